"""Why a partition changed: a sentence read off the change itself, whatever algorithm made it."""

from collections.abc import Mapping

from events.layouts import Partition, size
from events.state import App, ClusterState
from events.units import total_of
from reconcilers.amounts import containers, dominant

NAMES_MAX = 3

Partitions = Mapping[str, Partition]


def reason(state: ClusterState, app: App, old: Partitions, new: Partitions) -> str:
    """Return why the partition of `app` is in `new` what it is not in `old`."""
    before, after = old[app.app_id], new[app.app_id]
    causes = _causes(state, app, old, new)
    if not after:
        return "; ".join((f"released: {size(before)} to 0 containers", *causes))
    total = total_of(node.report.capacity for node in state.nodes.values() if not node.lost)
    share = f"fair share {dominant(app.demand * size(after), total)}"
    return "; ".join((_sizes(size(before), size(after)), share, *causes))


def _sizes(before: int, after: int) -> str:
    if not before:
        return containers(after)
    return f"{containers(after)} move" if before == after else f"{before} to {containers(after)}"


def _causes(state: ClusterState, app: App, old: Partitions, new: Partitions) -> tuple[str, ...]:
    before, after, scale = old[app.app_id], new[app.app_id], app.spec.scale
    causes = [f"node {node_id} is lost" for node_id in _lost(state, before)]
    if size(before) < size(after) == scale.max:
        causes.append(f"limited by scale.max {scale.max}")
    if size(before) > scale.max:
        causes.append(f"scale.max is now {scale.max}")
    if before and not after:
        causes.append(f"no room for scale.min {scale.min}")
    if givers := _others(before, after, old, new):
        causes.append(f"room of {givers}")
    if takers := _others(after, before, new, old):
        causes.append(f"makes room for {takers}")
    return tuple(causes)


def _lost(state: ClusterState, partition: Partition) -> list[str]:
    return [
        node_id
        for node_id in sorted(partition)
        if (node := state.nodes.get(node_id)) is None or node.lost
    ]


def _count(partition: Partition, node_id: str) -> int:
    return partition[node_id].count if node_id in partition else 0


def _others(less: Partition, more: Partition, old: Partitions, new: Partitions) -> str:
    """Return the apps that went the other way on the nodes where `less` became `more`."""
    node_ids = [node_id for node_id in sorted(more) if more[node_id].count > _count(less, node_id)]
    names = [
        app_id
        for app_id in new
        if any(_count(old[app_id], node) > _count(new[app_id], node) for node in node_ids)
    ]
    rest = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + rest
