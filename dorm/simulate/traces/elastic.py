"""From what a trace says to jobs that can be resized."""

import math
import re
from collections.abc import Sequence
from typing import Final

import attrs

from dorm.simulate.clusters import Cluster
from dorm.simulate.faults import shown
from dorm.simulate.job import Curve, Job
from dorm.simulate.traces.request import Request, Trace
from events.errors import Rejected
from events.units import Resources

ONE_GPU: Final = Resources(gpu_count=1)
CONTAINERS_MAX: Final = 100_000
HINT: Final = "write 1:2x for 1 to twice the request, 1x:1x for what was asked"

_BOUND: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)(x?)", re.ASCII)


@attrs.frozen
class Bound:
    """One bound: a number of containers, or a factor of the request."""

    amount: float
    is_factor: bool

    def of(self, containers: int, *, up: bool) -> int:
        """Return the bound of a job that asked for `containers`."""
        if not self.is_factor:
            return int(self.amount)
        wanted = self.amount * containers
        return max(1, math.ceil(wanted) if up else math.floor(wanted))


@attrs.frozen(kw_only=True)
class Elasticity:
    """How a job's request becomes bounds, where the trace has none."""

    low: Bound = Bound(1.0, is_factor=True)
    high: Bound = Bound(1.0, is_factor=True)
    text: str = "1x:1x"


def read_elasticity(text: str) -> Elasticity:
    """Return what `--elastic 1:2x` means.

    Raises:
        Rejected: It is no pair of bounds.
    """
    parts = [_BOUND.fullmatch(part.strip()) for part in text.split(":")]
    pairs = [part for part in parts if part is not None]
    if len(pairs) != 2 or len(parts) != 2:  # noqa: PLR2004 - a pair
        rule = "is no pair of bounds"
        raise Rejected(rule, field="--elastic", value=shown(text), hint=HINT)
    low, high = (Bound(float(part[1]), is_factor=bool(part[2])) for part in pairs)
    for bound in (low, high):
        if not bound.amount or (not bound.is_factor and bound.amount != int(bound.amount)):
            rule = "must have bounds above 0, and whole numbers of containers"
            raise Rejected(rule, field="--elastic", value=shown(text), hint=HINT)
    return Elasticity(low=low, high=high, text=text)


def make_jobs(
    trace: Trace, *, elasticity: Elasticity, alpha: float, container: Resources | None
) -> tuple[Job, ...]:
    """Return the jobs of a trace, the first submitted at 0.

    Args:
        trace: What was read.
        elasticity: Bounds for requests that have none.
        alpha: Of the speed curve n / (1 + alpha (n - 1)), for requests without one.
        container: Demand of a container; None for what the trace says, or one GPU.

    Raises:
        Rejected: The trace has no job.
    """
    if not trace.requests:
        raise Rejected("has no job that ran", field=trace.name)
    rows = sorted(trace.requests, key=lambda request: request.submitted_s)
    first_s = rows[0].submitted_s
    width = len(str(len(rows)))
    return tuple(
        Job(
            app_id=f"job-{number:0{width}d}",
            name=row.name or f"job-{number:0{width}d}",
            kind=row.kind,
            submitted_ms=round((row.submitted_s - first_s) * 1000),
            demand=container or row.demand or ONE_GPU,
            min=_low(row, elasticity),
            max=_high(row, elasticity),
            reference=row.containers,
            alone_s=row.duration_s,
            weight=row.weight,
            priority=row.priority,
            curve=row.curve or Curve(alpha=alpha),
        )
        for number, row in enumerate(rows)
    )


def fitting(jobs: Sequence[Job], cluster: Cluster) -> tuple[tuple[Job, ...], tuple[str, ...]]:
    """Return the jobs that the empty cluster can hold as they were asked for, and a note.

    One that never fits would wait for ever, and with first come first served all behind it too.
    """
    capacities: dict[Resources, int] = {}
    for node in cluster.nodes:
        capacities[node.capacity] = capacities.get(node.capacity, 0) + 1
    room: dict[Resources, int] = {}
    kept = []
    for job in jobs:
        if job.demand not in room:
            room[job.demand] = sum(
                job.demand.times_in(capacity) * count for capacity, count in capacities.items()
            )
        if max(job.min, job.reference) <= room[job.demand]:
            kept.append(job)
    if not kept:
        hint = "give it more or larger nodes"
        raise Rejected("has no room for any job", field="--cluster", value=cluster.text, hint=hint)
    left_out = len(jobs) - len(kept)
    note = f"{left_out} of {len(jobs)} jobs are left out: they need more than the cluster has"
    return tuple(kept), (note,) if left_out else ()


def _low(row: Request, elasticity: Elasticity) -> int:
    if row.min is not None:
        return row.min
    # A job was asked for at a size that it can run at.
    most = row.containers if row.max is None else min(row.max, row.containers)
    return min(elasticity.low.of(row.containers, up=False), most)


def _high(row: Request, elasticity: Elasticity) -> int:
    if row.max is not None:
        return max(min(row.max, CONTAINERS_MAX), _low(row, elasticity))
    return max(
        min(elasticity.high.of(row.containers, up=True), CONTAINERS_MAX), _low(row, elasticity)
    )
