"""The phases of a resize: ask for a checkpoint, see the old generation gone, start the new one.

Never two generations of one application at a time. A generation starts only when its whole room
is free: every container that used it has been seen gone, and so has every device. After a restore
of the store, nothing starts before every node has got rid of what this history does not know.
"""

from collections import defaultdict

import attrs

from events.generations import (
    CheckpointRequested,
    GenerationStarted,
    GenerationStopped,
    Member,
)
from events.state import App, ClusterState, Node, live_members
from events.units import Resources

Action = CheckpointRequested | GenerationStarted | GenerationStopped


@attrs.define
class _Use:
    """What live containers hold of one node."""

    amount: Resources = attrs.field(factory=Resources)
    devices: set[str] = attrs.field(factory=set)
    ports: set[int] = attrs.field(factory=set)


def plan(state: ClusterState) -> tuple[Action, ...]:
    """Return at most one step for each application, in order of submission."""
    use: defaultdict[str, _Use] = defaultdict(_Use)
    for app, member in live_members(state):
        _take(use[member.node_id], app, member)
    steps = (_step(state, app, use) for app in state.apps.values())
    return tuple(step for step in steps if step is not None)


def _step(state: ClusterState, app: App, use: defaultdict[str, _Use]) -> Action | None:
    generation = app.generation
    if generation is None:
        return _start(state, app, use)
    if generation.stop is not None:
        if generation.live:
            return None
        return GenerationStopped(app_id=app.app_id, generation=generation.number)
    if (
        generation.number < app.target_generation
        and generation.live
        and not _out_of_reach(state, app)
    ):
        return CheckpointRequested(
            app_id=app.app_id, generation=generation.number, reason=app.decided_reason
        )
    return None


def _out_of_reach(state: ClusterState, app: App) -> bool:
    """Return whether a container is on a lost node, where nobody can be asked to save work."""
    members = app.generation.live if app.generation else ()
    return any(
        member.node_id not in state.nodes or state.nodes[member.node_id].lost for member in members
    )


def _start(state: ClusterState, app: App, use: defaultdict[str, _Use]) -> GenerationStarted | None:
    waits = app.cancel_requested or app.failure or app.backoff
    if (
        waits
        or state.unsettled
        or not app.partition
        or app.target_generation <= app.last_generation
    ):
        return None
    members: list[Member] = []
    for node_id, slots in sorted(app.partition.items()):
        node = state.nodes.get(node_id)
        if node is None or not _has_room(node, use[node_id], app, node_id):
            return None
        ports = _free_ports(node, use[node_id], slots.count)
        if len(ports) < slots.count:
            return None
        each = len(slots.devices) // slots.count
        for index, port in enumerate(ports):
            devices = slots.devices[index * each : (index + 1) * each]
            rank = len(members)
            members.append(Member(rank=rank, node_id=node_id, port=port, devices=devices))
    for member in members:
        _take(use[member.node_id], app, member)
    return GenerationStarted(
        app_id=app.app_id, generation=app.target_generation, members=tuple(members)
    )


def _has_room(node: Node, use: _Use, app: App, node_id: str) -> bool:
    slots = app.partition[node_id]
    devices = {device.uuid for device in node.report.devices}
    return (
        not node.lost
        and (app.demand * slots.count + use.amount).fits_in(node.report.capacity)
        and devices.issuperset(slots.devices)
        and use.devices.isdisjoint(slots.devices)
    )


def _free_ports(node: Node, use: _Use, count: int) -> list[int]:
    ports: list[int] = []
    for port in range(node.report.port_min, node.report.port_max + 1):
        if len(ports) == count:
            break
        if port not in use.ports:
            ports.append(port)
    return ports


def _take(use: _Use, app: App, member: Member) -> None:
    use.amount += app.demand
    use.devices.update(member.devices)
    use.ports.add(member.port)
