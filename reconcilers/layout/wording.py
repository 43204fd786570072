"""Why a partition changed: a sentence read off the change itself, whatever algorithm made it."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Self

import attrs

from events.layouts import Partition, size
from events.state import App, ClusterState
from events.units import Resources
from reconcilers.amounts import containers, dominant
from reconcilers.layout.decision import Limit, Verdict
from reconcilers.layout.sums import total

NAMES_MAX = 3
RESOURCE_WORDS: Final = {"cpu": "cpus", "memory": "memory", "gpu": "GPUs"}
LIMIT_WORDS: Final = {
    Limit.FAIR_SHARE: "limited by its fair share",
    Limit.NOT_WORTH_IT: "more would not be worth the restart",
    Limit.TOUCH_BUDGET: "limited by how many applications one decision may disturb",
}

Partitions = Mapping[str, Partition]


@attrs.frozen(kw_only=True, eq=False)
class Wording:
    """What the reasons of one decision are read off.

    Attributes:
        old, new: The partitions of all unfinished applications.
        total: What the healthy nodes have together.
        givers, takers: Who has fewer, or more, containers on a node than before, by node id.
    """

    state: ClusterState
    old: Partitions
    new: Partitions
    total: Resources
    givers: Mapping[str, list[str]]
    takers: Mapping[str, list[str]]

    @classmethod
    def of(cls, state: ClusterState, old: Partitions, new: Partitions) -> Self:
        """Return what the reasons for `new` after `old` are read off."""
        givers, takers = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for app_id, after in new.items():
            before = old[app_id]
            if after is not before:
                for node_id in {**before, **after}:
                    change = _count(after, node_id) - _count(before, node_id)
                    if change:
                        (takers if change > 0 else givers)[node_id].append(app_id)
        healthy = (node.report.capacity for node in state.nodes.values() if not node.lost)
        return cls(
            state=state,
            old=old,
            new=new,
            total=total((capacity, 1) for capacity in healthy),
            givers=givers,
            takers=takers,
        )

    def reason(self, app: App, verdict: Verdict | None) -> str:
        """Return why the partition of `app` is in `new` what it is not in `old`."""
        before, after = self.old[app.app_id], self.new[app.app_id]
        causes = self._causes(app, before, after)
        if not after:
            return "; ".join((f"released: {size(before)} to 0 containers", *causes))
        share = self._share(app, size(after), verdict)
        limits = _limits(app, verdict)
        return "; ".join((_sizes(size(before), size(after)), share, *causes, *limits))

    def _share(self, app: App, count: int, verdict: Verdict | None) -> str:
        """Return what it has of its dominant resource, and its fair share where that is another."""
        has = dominant(app.demand * count, self.total)
        fair = round(verdict.fair_containers, 1) if verdict else 0.0
        if fair == count:
            return f"fair share {has}"
        return f"{has}, fair share {fair:g} containers" if fair else has

    def _causes(self, app: App, before: Partition, after: Partition) -> tuple[str, ...]:
        scale = app.spec.scale
        causes = [f"node {node_id} is lost" for node_id in _lost(self.state, before)]
        if size(before) > scale.max:
            causes.append(f"scale.max is now {scale.max}")
        if before and not after:
            causes.append(f"no room for scale.min {scale.min}")
        if givers := self._names(self.givers, before, after):
            causes.append(f"room of {givers}")
        if takers := self._names(self.takers, after, before):
            causes.append(f"makes room for {takers}")
        return tuple(causes)

    def _names(self, movers: Mapping[str, list[str]], less: Partition, more: Partition) -> str:
        """Return who went the other way on the nodes where `less` became `more`, oldest first."""
        there = {
            app_id
            for node_id in more
            if more[node_id].count > _count(less, node_id)
            for app_id in movers.get(node_id, ())
        }
        names = sorted(there, key=self._turn)
        rest = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
        return ", ".join(names[:NAMES_MAX]) + rest

    def _turn(self, app_id: str) -> tuple[int, str]:
        return self.state.apps[app_id].submitted_revision, app_id


def _sizes(before: int, after: int) -> str:
    if not before:
        return containers(after)
    return f"{containers(after)} move" if before == after else f"{before} to {containers(after)}"


def _limits(app: App, verdict: Verdict | None) -> tuple[str, ...]:
    """Return what kept it from getting more."""
    if verdict is None:
        return ()
    if verdict.limit is Limit.AT_MAX:
        return (f"limited by scale.max {app.spec.scale.max}",)
    if verdict.limit is Limit.RESOURCE:
        return (f"limited by {RESOURCE_WORDS[verdict.resource]}",)
    return (LIMIT_WORDS[verdict.limit],) if verdict.limit in LIMIT_WORDS else ()


def _lost(state: ClusterState, partition: Partition) -> list[str]:
    return [
        node_id
        for node_id in sorted(partition)
        if (node := state.nodes.get(node_id)) is None or node.lost
    ]


def _count(partition: Partition, node_id: str) -> int:
    return partition[node_id].count if node_id in partition else 0
