"""What is true of every state that a fold can reach.

Checked after each step in tests and in the simulation.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import attrs

from events.layouts import size
from events.rules.measuring import RESTART_MAX_MS, RESTART_MIN_MS, SIZES_MAX
from events.state import App, ClusterState, Node, live_members
from events.units import Resources


def violations(state: ClusterState) -> tuple[str, ...]:
    """Return a sentence for each invariant that does not hold; nothing for a sound state."""
    return (
        *_finished(state),
        *_unfinished(state),
        *_checkpoints(state),
        *_nodes(state),
        *_times(state),
    )


def check(state: ClusterState) -> ClusterState:
    """Return the state.

    Raises:
        AssertionError: An invariant does not hold: a bug in Dorm, never a user's fault.
    """
    broken = violations(state)
    assert not broken, "; ".join(broken)
    return state


def _finished(state: ClusterState) -> Iterator[str]:
    for app in state.finished.values():
        if app.app_id in state.apps:
            yield f"{app.app_id} is finished and unfinished"
        if app.outcome is None:
            yield f"{app.app_id} is finished without an outcome"
        if app.generation is not None:
            yield f"{app.app_id} is finished and has containers"
        if app.partition:
            yield f"{app.app_id} is finished and has a partition"
        if app.quarantine:
            yield f"{app.app_id} is finished and quarantined"


def _unfinished(state: ClusterState) -> Iterator[str]:
    for app in state.apps.values():
        if app.outcome is not None:
            yield f"{app.app_id} has an outcome and is not finished"
        if app.partition and size(app.partition) < 1:
            yield f"{app.app_id} has a partition of no containers"
        if app.generation is not None:
            yield from _generation(app)


def _checkpoints(state: ClusterState) -> Iterator[str]:
    for app in state.apps.values():
        positions = [one.position for one in app.checkpoints]
        if any(newer <= older for newer, older in pairwise(positions)):
            yield f"{app.app_id} has checkpoints out of order: {positions}"
        generation = app.generation
        if generation is not None and any(
            seed.generation >= generation.number for seed in generation.seeds
        ):
            yield f"{app.app_id} generation {generation.number} starts from a later one"


def _times(state: ClusterState) -> Iterator[str]:
    if state.looked_at_ms > state.now_ms:
        yield f"the layout was looked at at {state.looked_at_ms}, after {state.now_ms}"
    for app in state.apps.values():
        if max(app.waiting_since_ms, app.disturbed_at_ms or 0) > state.now_ms:
            yield f"{app.app_id} was disturbed after {state.now_ms}"
        if len(app.speeds) > SIZES_MAX or any(
            speed.steps <= 0 or speed.ms <= 0 for speed in app.speeds.values()
        ):
            yield f"{app.app_id} has a speed that nobody measured"
        if app.restart_ms and not RESTART_MIN_MS <= app.restart_ms <= RESTART_MAX_MS:
            yield f"{app.app_id} restarts in {app.restart_ms} ms"


def _generation(app: App) -> Iterator[str]:
    generation = app.generation
    assert generation is not None
    if generation.number != app.last_generation:
        yield f"{app.app_id} runs generation {generation.number}, not its last"
    ranks = range(len(generation.members))
    if any(rank not in ranks for rank in (*generation.started, *generation.exits)):
        yield f"{app.app_id} has a container outside of its generation"


@attrs.define
class _Use:
    """What containers hold of one node, and who holds what there is only one of."""

    amount: Resources = attrs.field(factory=Resources)
    owners: dict[str, str] = attrs.field(factory=dict)


def _nodes(state: ClusterState) -> Iterator[str]:
    uses: defaultdict[str, _Use] = defaultdict(_Use)
    for app, member in live_members(state):
        node = state.nodes.get(member.node_id)
        if node is None:
            yield f"{app.app_id} has a container on unknown node {member.node_id}"
        elif not _changed_under(node, app):
            use = uses[member.node_id]
            use.amount += app.demand
            known = {device.uuid for device in node.report.devices}
            for uuid in member.devices:
                if uuid not in known:
                    yield f"{app.app_id} has device {uuid}, which {member.node_id} does not have"
                yield from _take(use, f"device {uuid} on {member.node_id}", app)
            yield from _take(use, f"port {member.port} on {member.node_id}", app)
    for node_id, use in uses.items():
        capacity = state.nodes[node_id].report.capacity
        if not use.amount.fits_in(capacity):
            yield f"{node_id} is overfilled: {use.amount} of {capacity}"


def _changed_under(node: Node, app: App) -> bool:
    """Return whether the decision to place the app there did not know the machine as it is now."""
    return app.generation is not None and node.reported_revision > app.generation.input_revision


def _take(use: _Use, what: str, app: App) -> Iterator[str]:
    if owner := use.owners.get(what):
        yield f"{what} is given to {owner} and {app.app_id}"
    use.owners[what] = app.app_id
