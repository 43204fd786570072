"""What is true of every layout, whatever algorithm made it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from events.generations import Member
from events.layouts import Partition, size
from events.state import App, ClusterState
from reconcilers.layout.problem import Treatment, in_order, treatment
from reconcilers.layout.sums import used_on

RESOURCES = ("cpu_milli", "memory_bytes")


def problems(state: ClusterState, partitions: Mapping[str, Partition]) -> tuple[str, ...]:
    """Return a sentence for each rule that the partitions of all unfinished apps break."""
    found: list[str] = []
    granted: list[tuple[App, Partition]] = []
    pinned: list[App] = []
    for app in in_order(state):
        partition = partitions.get(app.app_id, {})
        kind = treatment(state, app)
        if kind is Treatment.PINNED:
            pinned.append(app)
        found.extend(_of_one_app(app, partition, kind))
        if kind in {Treatment.CONTENDS, Treatment.HELD}:
            granted.append((app, partition))
            found.extend(_places(state, app, partition))
    found.extend(_overfull(state, granted, pinned))
    found.extend(_shared_devices(granted, pinned))
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


def _overfull(
    state: ClusterState, granted: list[tuple[App, Partition]], pinned: list[App]
) -> Iterator[str]:
    """Only grants count: a node that pinned containers overfill alone is nobody's fault."""
    given = used_on((app.demand, _counts(partition)) for app, partition in granted)
    used = used_on((app.demand, Counter(one.node_id for one in _live(app))) for app in pinned)
    for node_id, amounts in given.items():
        if (node := state.nodes.get(node_id)) is None:
            continue
        # Devices are not compared as a number: each of them has an owner of its own.
        for name, amount, more in zip(RESOURCES, amounts, used.get(node_id, (0, 0)), strict=False):
            capacity = getattr(node.report.capacity, name)
            if amount > 0 and amount + more > capacity:
                yield f"{node_id} has {capacity} {name}, and {amount + more} are granted"


def _counts(partition: Partition) -> dict[str, int]:
    return {node_id: slots.count for node_id, slots in partition.items()}


def _live(app: App) -> tuple[Member, ...]:
    return app.generation.live if app.generation else ()


def _shared_devices(granted: list[tuple[App, Partition]], pinned: list[App]) -> Iterator[str]:
    owners = Counter(
        (node_id, uuid)
        for _, partition in granted
        for node_id, slots in partition.items()
        for uuid in slots.devices
    )
    in_use = {
        (member.node_id, uuid) for app in pinned for member in _live(app) for uuid in member.devices
    }
    for (node_id, uuid), count in owners.items():
        if count > 1:
            yield f"device {uuid} on {node_id} is granted {count} times"
        if (node_id, uuid) in in_use:
            yield f"device {uuid} on {node_id} is granted, and in use by a pinned app"
