"""Why a partition changed: a sentence read off the change itself, whatever algorithm made it."""

from collections.abc import Mapping
from typing import Final

from events.layouts import Partition, size
from events.state import App, ClusterState
from events.units import total_of
from reconcilers.amounts import containers, dominant
from reconcilers.layout.decision import Limit, Verdict

NAMES_MAX = 3
RESOURCE_WORDS: Final = {"cpu": "cpus", "memory": "memory", "gpu": "GPUs"}
LIMIT_WORDS: Final = {
    Limit.FAIR_SHARE: "limited by its fair share",
    Limit.NOT_WORTH_IT: "more would not be worth the restart",
    Limit.TOUCH_BUDGET: "limited by how many applications one decision may disturb",
}

Partitions = Mapping[str, Partition]


def reason(
    state: ClusterState, app: App, old: Partitions, new: Partitions, verdict: Verdict | None
) -> str:
    """Return why the partition of `app` is in `new` what it is not in `old`."""
    before, after = old[app.app_id], new[app.app_id]
    causes = _causes(state, app, old, new)
    if not after:
        return "; ".join((f"released: {size(before)} to 0 containers", *causes))
    share = _share(state, app, size(after), verdict)
    limits = _limits(app, verdict)
    return "; ".join((_sizes(size(before), size(after)), share, *causes, *limits))


def _sizes(before: int, after: int) -> str:
    if not before:
        return containers(after)
    return f"{containers(after)} move" if before == after else f"{before} to {containers(after)}"


def _share(state: ClusterState, app: App, count: int, verdict: Verdict | None) -> str:
    """Return what it has of its dominant resource, and its fair share where that is another."""
    total = total_of(node.report.capacity for node in state.nodes.values() if not node.lost)
    has = dominant(app.demand * count, total)
    fair = round(verdict.fair_containers, 1) if verdict else 0.0
    if fair == count:
        return f"fair share {has}"
    return f"{has}, fair share {fair:g} containers" if fair else has


def _limits(app: App, verdict: Verdict | None) -> tuple[str, ...]:
    """Return what kept it from getting more."""
    if verdict is None:
        return ()
    if verdict.limit is Limit.AT_MAX:
        return (f"limited by scale.max {app.spec.scale.max}",)
    if verdict.limit is Limit.RESOURCE:
        return (f"limited by {RESOURCE_WORDS[verdict.resource]}",)
    return (LIMIT_WORDS[verdict.limit],) if verdict.limit in LIMIT_WORDS else ()


def _causes(state: ClusterState, app: App, old: Partitions, new: Partitions) -> tuple[str, ...]:
    before, after, scale = old[app.app_id], new[app.app_id], app.spec.scale
    causes = [f"node {node_id} is lost" for node_id in _lost(state, before)]
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
