"""What is true of every layout, whatever algorithm made it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from events.layouts import Partition, size
from events.state import App, ClusterState
from events.units import Resources
from reconcilers.layout.problem import Treatment, in_order, treatment

RESOURCES = ("cpu_milli", "memory_bytes")


def problems(state: ClusterState, partitions: Mapping[str, Partition]) -> tuple[str, ...]:
    """Return a sentence for each rule that the partitions of all unfinished apps break."""
    found: list[str] = []
    granted: list[tuple[App, Partition]] = []
    for app in in_order(state):
        partition = partitions.get(app.app_id, {})
        kind = treatment(state, app)
        found.extend(_of_one_app(app, partition, kind))
        if kind in {Treatment.CONTENDS, Treatment.HELD}:
            granted.append((app, partition))
            found.extend(_places(state, app, partition))
    found.extend(_overfull(state, granted))
    found.extend(_shared_devices(state, granted))
    found.extend(f"{name} is no unfinished app" for name in partitions if name not in state.apps)
    return tuple(found)


def _of_one_app(app: App, partition: Partition, kind: Treatment) -> Iterator[str]:
    if kind is Treatment.CONTENDS:
        count, scale = size(partition), app.spec.scale
        if count and not scale.min <= count <= scale.max:
            yield f"{app.app_id} has {count} containers, not {scale.min} to {scale.max}"
    elif partition != app.partition and (partition or kind is not Treatment.HELD):
        yield f"{app.app_id} is {kind.value}, and was changed"


def _places(state: ClusterState, app: App, partition: Partition) -> Iterator[str]:
    for node_id, slots in partition.items():
        node = state.nodes.get(node_id)
        if node is None or node.lost:
            yield f"{app.app_id} has containers on {node_id}, which is not healthy"
            continue
        if len(slots.devices) != slots.count * app.demand.gpu_count:
            yield f"{app.app_id} has {len(slots.devices)} devices on {node_id} for {slots.count}"
        there = {device.uuid for device in node.report.devices}
        for uuid in slots.devices:
            if uuid not in there:
                yield f"{app.app_id} has device {uuid}, which {node_id} has not"


def _overfull(state: ClusterState, granted: list[tuple[App, Partition]]) -> Iterator[str]:
    """Only grants count: a node that pinned containers overfill alone is nobody's fault."""
    given, used = _sums(granted), _in_use(state)
    for node_id, amount in given.items():
        if (node := state.nodes.get(node_id)) is None:
            continue
        total = amount + used.get(node_id, Resources())
        for name in RESOURCES:
            capacity = getattr(node.report.capacity, name)
            if getattr(amount, name) > 0 and getattr(total, name) > capacity:
                yield f"{node_id} has {capacity} {name}, and {getattr(total, name)} are granted"


def _sums(granted: list[tuple[App, Partition]]) -> dict[str, Resources]:
    sums: dict[str, Resources] = {}
    for app, partition in granted:
        for node_id, slots in partition.items():
            sums[node_id] = sums.get(node_id, Resources()) + app.demand * slots.count
    return sums


def _pinned(state: ClusterState) -> list[App]:
    return [app for app in in_order(state) if treatment(state, app) is Treatment.PINNED]


def _in_use(state: ClusterState) -> dict[str, Resources]:
    used: dict[str, Resources] = {}
    for app in _pinned(state):
        for member in app.generation.live if app.generation else ():
            used[member.node_id] = used.get(member.node_id, Resources()) + app.demand
    return used


def _shared_devices(state: ClusterState, granted: list[tuple[App, Partition]]) -> Iterator[str]:
    owners = Counter(
        (node_id, uuid)
        for _, partition in granted
        for node_id, slots in partition.items()
        for uuid in slots.devices
    )
    in_use = {
        (member.node_id, uuid)
        for app in _pinned(state)
        for member in (app.generation.live if app.generation else ())
        for uuid in member.devices
    }
    for (node_id, uuid), count in owners.items():
        if count > 1:
            yield f"device {uuid} on {node_id} is granted {count} times"
        if (node_id, uuid) in in_use:
            yield f"device {uuid} on {node_id} is granted, and in use by a pinned app"
