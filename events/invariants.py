"""What is true of every state that a fold can reach. Checked after each step in tests and simulation."""

from collections import defaultdict
from collections.abc import Iterator

from events.layouts import size
from events.state import ClusterState, live_members
from events.units import Resources


def violations(state: ClusterState) -> tuple[str, ...]:
    """Return a sentence for each invariant that does not hold; nothing for a sound state."""
    return (*_apps(state), *_nodes(state))


def check(state: ClusterState) -> ClusterState:
    """Return the state.

    Raises:
        AssertionError: An invariant does not hold: a bug in Dorm, never a user's fault.
    """
    broken = violations(state)
    assert not broken, "; ".join(broken)
    return state


def _apps(state: ClusterState) -> Iterator[str]:
    for app_id in state.apps.keys() & state.finished.keys():
        yield f"{app_id} is finished and unfinished"
    for app in state.finished.values():
        if app.outcome is None:
            yield f"{app.app_id} is finished without an outcome"
        if app.generation is not None:
            yield f"{app.app_id} is finished and has containers"
    for app in state.apps.values():
        if app.outcome is not None:
            yield f"{app.app_id} has an outcome and is not finished"
        if app.partition and not 1 <= size(app.partition):
            yield f"{app.app_id} has an empty partition"
        generation = app.generation
        if generation is None:
            continue
        if generation.number > app.last_generation:
            yield f"{app.app_id} runs generation {generation.number} past its last"
        ranks = set(range(len(generation.members)))
        if not set(generation.started) <= ranks or not set(generation.exits) <= ranks:
            yield f"{app.app_id} has a container outside of its generation"


def _nodes(state: ClusterState) -> Iterator[str]:
    used: defaultdict[str, Resources] = defaultdict(Resources)
    devices: dict[tuple[str, str], str] = {}
    ports: dict[tuple[str, int], str] = {}
    for app, member in live_members(state):
        started = app.generation.started_revision if app.generation else 0
        node = state.nodes.get(member.node_id)
        if node is None:
            yield f"{app.app_id} has a container on unknown node {member.node_id}"
            continue
        if node.reported_revision > started:
            continue  # The machine changed under a container that was already there.
        used[member.node_id] += app.demand
        for uuid in member.devices:
            if other := devices.get((member.node_id, uuid)):
                yield f"device {uuid} on {member.node_id} is given to {other} and {app.app_id}"
            devices[member.node_id, uuid] = app.app_id
        if other := ports.get((member.node_id, member.port)):
            yield f"port {member.port} on {member.node_id} is given to {other} and {app.app_id}"
        ports[member.node_id, member.port] = app.app_id
    for node_id, amount in used.items():
        if not amount.fits_in(state.nodes[node_id].report.capacity):
            yield f"{node_id} is overfilled: {amount} of {state.nodes[node_id].report.capacity}"
