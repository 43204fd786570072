"""What the events of a node change."""

import attrs

from events.draft import Draft, Senseless
from events.nodes import (
    NodeExpelled,
    NodeFenced,
    NodeForgotten,
    NodeLost,
    NodeReported,
    NodeReturned,
    NodeSettled,
)
from events.recorded import Recorded
from events.state import Exit, Node


def reported(draft: Draft, event: NodeReported, recorded: Recorded) -> None:
    """Take the newest description. An agent that only started again describes the same machine.

    An agent takes a new tenure only when nothing of the one before is left.
    """
    revision = recorded.revision
    known = draft.nodes.get(event.node_id)
    if known and known.report.tenure not in {"", event.tenure}:
        _gone(draft, event.node_id, f"node {event.node_id} lost its right to run it")
    elif known and known.expelled:
        raise Senseless("tenure is over")
    if known and attrs.evolve(known.report, incarnation=event.incarnation) == event:
        revision = known.reported_revision
    draft.nodes[event.node_id] = Node(report=event, reported_revision=revision)


def lost(draft: Draft, event: NodeLost) -> None:
    """Place nothing there any more; what runs there stays in the state."""
    node = draft.node(event.node_id)
    if node.lost:
        raise Senseless("node is lost already")
    draft.nodes[event.node_id] = attrs.evolve(node, lost=True)


def returned(draft: Draft, event: NodeReturned) -> None:
    """Use the node again."""
    node = draft.node(event.node_id)
    if not node.lost:
        raise Senseless("node is not lost")
    if node.expelled:
        raise Senseless("tenure is over")
    draft.nodes[event.node_id] = attrs.evolve(node, lost=False)


def expelled(draft: Draft, event: NodeExpelled) -> None:
    """Give up what is there: it is not coming back."""
    node = _of_tenure(draft, event)
    if node.expelled:
        raise Senseless("node is expelled already")
    draft.nodes[event.node_id] = attrs.evolve(node, lost=True, expelled=True)


def fenced(draft: Draft, event: NodeFenced) -> None:
    """Count every container there as gone."""
    node = _of_tenure(draft, event)
    if not node.expelled or node.fenced:
        raise Senseless("node is fenced already" if node.fenced else "node is not expelled")
    draft.nodes[event.node_id] = attrs.evolve(node, fenced=True)
    draft.unsettled.pop(event.node_id, None)
    _gone(draft, event.node_id, f"node {event.node_id} was lost and is fenced off")


def forgotten(draft: Draft, event: NodeForgotten) -> None:
    """Drop the node, and count every container there as gone."""
    if not draft.node(event.node_id).lost:
        raise Senseless("node is not lost")
    del draft.nodes[event.node_id]
    draft.unsettled.pop(event.node_id, None)
    _gone(draft, event.node_id, f"node {event.node_id} was forgotten")


def _of_tenure(draft: Draft, event: NodeExpelled | NodeFenced) -> Node:
    node = draft.node(event.node_id)
    if node.report.tenure != event.tenure:
        raise Senseless("tenure is not the node's")
    return node


def _gone(draft: Draft, node_id: str, why: str) -> None:
    """Count what runs on a node as gone."""
    gone = Exit(exit_code=None, reason="lost", message=why)
    for app in tuple(draft.apps.values()):
        generation = app.generation
        if generation is None:
            continue
        exits = {m.rank: gone for m in generation.live if m.node_id == node_id}
        if exits:
            # Peers that failed on the way mostly failed because of this.
            failing = generation.stop is not None and generation.stop.cause == "failure"
            generation = attrs.evolve(generation, exits={**generation.exits, **exits})
            counts = app.failure_counts and not failing
            draft.put(attrs.evolve(app, generation=generation, failure_counts=counts))


def settled(draft: Draft, event: NodeSettled) -> None:
    """Wait for this node no more."""
    if event.epoch != draft.store_epoch:
        raise Senseless("settled in another store epoch")
    if event.node_id not in draft.unsettled:
        raise Senseless("node is settled already")
    del draft.unsettled[event.node_id]
