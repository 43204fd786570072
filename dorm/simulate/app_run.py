"""One job on its way: progress, places, and the times that the result tells of."""

import math
from collections.abc import Mapping
from typing import Final

import attrs

from dorm.simulate.job import SECOND_MS, Job
from dorm.simulate.results import AppResult, SizeAt
from events.state import Progress

GIB: Final = 1 << 30
STEPS_PER_S: Final = 1_000
FOR_EVER_MS: Final = 1 << 60


@attrs.define(eq=False, kw_only=True)
class AppRun:
    """An application between its submit and its end.

    Progress is exact between changes: at one size the speed does not change, so the work done is
    brought up to date only where the size changes, the job ends, or a node is lost.

    Attributes:
        job: As the policy sees it; `asked` as the trace has it.
        done: Work done until `as_of_ms`, in seconds of one container.
        resumes_ms: Until then a restart takes place, and nothing is done.
        disturbed_ms: When places that it had last changed; None before.
        waits_since_ms: Since when it is without containers.
        version: Counts changes; an older planned end is void.
        measured: Progress by size, in thousandths of a container second, as agents report steps.
    """

    job: Job
    asked: Job
    restart_ms: int
    placement: Mapping[str, int] = attrs.field(factory=dict)
    size: int = 0
    done: float = 0.0
    as_of_ms: int = 0
    resumes_ms: int = 0
    disturbed_ms: int | None = None
    waits_since_ms: int = 0
    version: int = 0
    is_evicted: bool = False
    started_ms: int | None = None
    finished_ms: int | None = None
    queued_ms: int = 0
    run_ms: int = 0
    lost_ms: int = 0
    restarts: int = 0
    hasty: int = 0
    sizes: list[tuple[int, int]] = attrs.field(factory=list)
    measured: dict[int, Progress] = attrs.field(factory=dict)

    def advance(self, now_ms: int) -> None:
        """Bring work and times up to date."""
        span_ms = now_ms - self.as_of_ms
        if self.size:
            works_ms = max(0, now_ms - max(self.as_of_ms, self.resumes_ms))
            if works_ms:
                work = self.job.curve.speed(self.size) * works_ms / SECOND_MS
                self.done += work
                before = self.measured.get(self.size, Progress())
                self.measured[self.size] = Progress(
                    steps=before.steps + round(work * STEPS_PER_S), ms=before.ms + works_ms
                )
            self.run_ms += span_ms
            self.lost_ms += span_ms - works_ms
        else:
            self.queued_ms += span_ms
        self.as_of_ms = now_ms

    def move(self, placement: Mapping[str, int], now_ms: int, *, rest_ms: int) -> None:
        """Give it other places, which restarts it; or none, which saves its work and ends it."""
        self.advance(now_ms)
        if self.size:
            self.restarts += 1
            since_ms = None if self.disturbed_ms is None else now_ms - self.disturbed_ms
            self.hasty += since_ms is not None and since_ms < rest_ms
            self.disturbed_ms = now_ms
        self._place(placement, now_ms)

    def begin(self, placement: Mapping[str, int], now_ms: int, *, works_ms: int) -> None:
        """Get containers, which work from `works_ms` on."""
        self.advance(now_ms)
        self._place(placement, now_ms)
        self.resumes_ms = works_ms

    def halt(self, now_ms: int) -> None:
        """Stop working, and save the work."""
        self.advance(now_ms)
        self.resumes_ms = FOR_EVER_MS

    def leave(self, now_ms: int) -> None:
        """Have no containers any more."""
        self.advance(now_ms)
        self._place({}, now_ms)

    def evict(self, now_ms: int, checkpoint_ms: int) -> None:
        """Lose all places with a node, and the work since the last checkpoint."""
        self.advance(now_ms)
        since_ms = max(0, now_ms - self.resumes_ms) % checkpoint_ms
        redo = min(self.done, self.job.curve.speed(self.size) * since_ms / SECOND_MS)
        self.done -= redo
        self.lost_ms += since_ms
        self.restarts += 1
        self.is_evicted = True
        self._place({}, now_ms)

    def ends_ms(self) -> int:
        """Return when it will be done at its present size, rounded up."""
        left_ms = math.ceil((self.job.work - self.done) / self.job.curve.speed(self.size) * 1000)
        return max(self.as_of_ms, self.resumes_ms) + max(0, left_ms)

    def finish(self, now_ms: int) -> None:
        """End well."""
        self.leave(now_ms)
        self.finished_ms = now_ms

    def _place(self, placement: Mapping[str, int], now_ms: int) -> None:
        self.placement, self.size = placement, sum(placement.values())
        self.version += 1
        self.sizes.append((now_ms, self.size))
        if not self.size:
            self.waits_since_ms = now_ms
            return
        # The first start costs nothing: every policy has to pay it once.
        self.resumes_ms = now_ms + (self.restart_ms if self.started_ms is not None else 0)
        if self.started_ms is None:
            self.started_ms = now_ms
        self.is_evicted = False


def result_of(run: AppRun) -> AppResult:
    """Return what the run says in the results."""
    asked, demand = run.asked, run.asked.demand
    return AppResult(
        app_id=asked.app_id,
        name=asked.name,
        kind=asked.kind,
        min=asked.min,
        max=asked.max,
        weight=asked.weight,
        priority=asked.priority,
        demand={
            "cpu": demand.cpu_milli / 1000,
            "memory": round(demand.memory_bytes / GIB, 3),
            "gpu": demand.gpu_count,
        },
        reference_containers=asked.reference,
        alone_s=asked.alone_s,
        submitted_s=asked.submitted_ms / SECOND_MS,
        started_s=_seconds(run.started_ms),
        finished_s=_seconds(run.finished_ms),
        queued_s=run.queued_ms / SECOND_MS,
        run_s=run.run_ms / SECOND_MS,
        lost_s=run.lost_ms / SECOND_MS,
        restarts=run.restarts,
        hasty_touches=run.hasty,
        sizes=tuple(SizeAt(at_s=at_ms / SECOND_MS, containers=size) for at_ms, size in run.sizes),
    )


def _seconds(at_ms: int | None) -> float | None:
    return None if at_ms is None else at_ms / SECOND_MS
