"""What the events of a node change."""

import attrs

from events.draft import Draft, Senseless
from events.nodes import NodeForgotten, NodeLost, NodeReported, NodeReturned, NodeSettled
from events.recorded import Recorded
from events.state import Exit, Node


def reported(draft: Draft, event: NodeReported, recorded: Recorded) -> None:
    """Take the newest description. An agent that only started again describes the same machine."""
    revision = recorded.revision
    known = draft.nodes.get(event.node_id)
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
    draft.nodes[event.node_id] = attrs.evolve(node, lost=False)


def forgotten(draft: Draft, event: NodeForgotten) -> None:
    """Drop the node, and count every container there as gone."""
    if not draft.node(event.node_id).lost:
        raise Senseless("node is not lost")
    del draft.nodes[event.node_id]
    draft.unsettled.pop(event.node_id, None)
    gone = Exit(exit_code=None, reason="lost", message=f"node {event.node_id} was forgotten")
    for app in tuple(draft.apps.values()):
        generation = app.generation
        if generation is None:
            continue
        exits = {m.rank: gone for m in generation.live if m.node_id == event.node_id}
        if exits:
            generation = attrs.evolve(generation, exits={**generation.exits, **exits})
            draft.put(attrs.evolve(app, generation=generation))


def settled(draft: Draft, event: NodeSettled) -> None:
    """Wait for this node no more."""
    if event.epoch != draft.store_epoch:
        raise Senseless("settled in another store epoch")
    if event.node_id not in draft.unsettled:
        raise Senseless("node is settled already")
    del draft.unsettled[event.node_id]
