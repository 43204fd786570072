"""What a run notes while it goes on: a step function of the cluster's state, and its decisions."""

import math
from typing import Final

import attrs

from dorm.simulate.job import SECOND_MS
from dorm.simulate.results import DecisionResult, Moment
from events.units import Resources

MOMENTS_MAX: Final = 2_000  # more than a plot has pixels
FIELDS: Final = (
    *("cpu", "memory", "gpu", "utilization", "loss", "paper_loss"),
    *("running", "waiting", "containers"),
)


@attrs.frozen
class Segment:
    """A stretch of time in which nothing changed; `values` as in `FIELDS`."""

    at_ms: int
    span_ms: int
    values: tuple[float, ...]


@attrs.define(eq=False)
class Recorder:
    """Collects segments and decisions."""

    segments: list[Segment] = attrs.field(factory=list)
    decisions: list[DecisionResult] = attrs.field(factory=list)
    loss: float = 0.0
    paper_loss: float = 0.0
    now_ms: int = 0

    def advance(
        self, now_ms: int, used: Resources, total: Resources, counts: tuple[int, int, int]
    ) -> None:
        """Note how it was since the last call: call this before anything changes.

        Args:
            now_ms: Until when.
            used: By all containers.
            total: Of all nodes that are up.
            counts: Jobs that run, jobs that wait, containers.
        """
        span_ms = now_ms - self.now_ms
        if span_ms > 0:
            parts = (
                used.cpu_milli / total.cpu_milli if total.cpu_milli else 0.0,
                used.memory_bytes / total.memory_bytes if total.memory_bytes else 0.0,
                used.gpu_count / total.gpu_count if total.gpu_count else 0.0,
            )
            values = (*parts, math.fsum(parts), self.loss, self.paper_loss, *map(float, counts))
            self.segments.append(Segment(self.now_ms, span_ms, values))
        self.now_ms = now_ms

    def average(self, field: str, until_ms: int | None = None) -> float:
        """Return the mean of a field over time, up to `until_ms`."""
        index, end_ms = FIELDS.index(field), self.now_ms if until_ms is None else until_ms
        spans = [max(0, min(s.at_ms + s.span_ms, end_ms) - s.at_ms) for s in self.segments]
        products = (
            segment.values[index] * span for segment, span in zip(self.segments, spans, strict=True)
        )
        return math.fsum(products) / max(1, sum(spans))

    def peak(self, field: str) -> float:
        """Return the largest value that a field had."""
        index = FIELDS.index(field)
        return max((segment.values[index] for segment in self.segments), default=0.0)

    def moments(self) -> tuple[Moment, ...]:
        """Return the segments, or averages over equal spans where there are too many of them."""
        rows = self.segments
        if len(rows) > MOMENTS_MAX:
            rows = _thinned(rows, -(-self.now_ms // MOMENTS_MAX))
        return tuple(_moment(row.at_ms, row.values) for row in rows) + (
            (_moment(self.now_ms, (0.0,) * len(FIELDS)),) if rows else ()
        )

    def thinned_decisions(self) -> tuple[DecisionResult, ...]:
        """Return every decision, or every n-th where there are too many of them."""
        step = -(-len(self.decisions) // MOMENTS_MAX)
        return tuple(self.decisions[:: max(1, step)])


def _moment(at_ms: int, values: tuple[float, ...]) -> Moment:
    return Moment(at_s=at_ms / SECOND_MS, **dict(zip(FIELDS, values, strict=True)))


def _thinned(rows: list[Segment], width_ms: int) -> list[Segment]:
    """Return averages over spans of `width_ms`; the segments leave no gap between them."""
    end_ms = rows[-1].at_ms + rows[-1].span_ms
    sums = [[0.0] * len(FIELDS) for _ in range(-(-end_ms // width_ms))]
    for row in rows:
        at_ms, last_ms = row.at_ms, row.at_ms + row.span_ms
        while at_ms < last_ms:  # Each turn ends at the next border of a span.
            bucket = at_ms // width_ms
            until_ms = min(last_ms, (bucket + 1) * width_ms)
            for index, value in enumerate(row.values):
                sums[bucket][index] += value * (until_ms - at_ms)
            at_ms = until_ms
    spans = [min(width_ms, end_ms - index * width_ms) for index in range(len(sums))]
    return [
        Segment(index * width_ms, span, tuple(value / span for value in bucket))
        for index, (bucket, span) in enumerate(zip(sums, spans, strict=True))
    ]
