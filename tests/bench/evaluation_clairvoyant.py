"""What a scheduler could reach that knows all run times: a mark for mean completion times.

It sees one pool instead of nodes, resizes for free, owes nobody a fair share, and every ten minutes
hands out the containers one by one to whoever gains most by the next one:

    (v_i(n + 1) - v_i(n)) / (work left of i) ^ foresight

With foresight 0 it maximizes what containers achieve, as the policy `goodput` does, and knows no
run times; with 1/2 it prefers what is done soon, as the shortest-remaining-time rule does, without
giving up the good use of containers. It is no bound, but whatever stays behind nodes, restarts
and fairness will find it hard to do better.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence

import attrs

from dorm.simulate.job import SECOND_MS, Job
from events.units import Resources

STEP_S = 600.0
DONE = 1e-6
LEAST_LEFT_S = 60.0


@attrs.define(eq=False)
class Going:
    """A job that has arrived and not ended."""

    job: Job
    left: float
    size: int = 0

    @property
    def speed(self) -> float:
        """Return how fast it works at its size."""
        return self.job.curve.speed(self.size)

    def gain(self, foresight: float) -> float:
        """Return what the next container is worth."""
        more = self.job.curve.speed(self.size + 1) - self.speed
        return more / float(max(self.left, LEAST_LEFT_S) ** foresight)


def mean_completion_s(jobs: Sequence[Job], total: Resources, *, foresight: float) -> float:
    """Return the mean time from submit to end."""
    ends = dict(_ends(jobs, total, foresight))
    return sum(ends[job.app_id] - job.submitted_ms / SECOND_MS for job in jobs) / len(jobs)


def _ends(jobs: Sequence[Job], total: Resources, foresight: float) -> Iterator[tuple[str, float]]:
    queue = sorted(jobs, key=lambda job: job.submitted_ms, reverse=True)
    going: list[Going] = []
    now_s = 0.0
    while queue or going:  # Every job fits an empty cluster, so work goes on and ends.
        while queue and queue[-1].submitted_ms / SECOND_MS <= now_s:
            job = queue.pop()
            going.append(Going(job, job.work))
        _hand_out(going, total, foresight)
        until_s = min(
            now_s + STEP_S if going else float("inf"),
            queue[-1].submitted_ms / SECOND_MS if queue else float("inf"),
            *(now_s + one.left / one.speed for one in going if one.size),
        )
        for one in going:
            one.left -= one.speed * (until_s - now_s)
        now_s = until_s
        yield from ((one.job.app_id, now_s) for one in going if one.left <= DONE)
        going = [one for one in going if one.left > DONE]


def _hand_out(going: Sequence[Going], total: Resources, foresight: float) -> None:
    free = total
    for one in going:
        one.size = 0
    heap = [(-one.gain(foresight), index) for index, one in enumerate(going)]
    heapq.heapify(heap)
    while heap:  # Each turn hands out a container of a finite pool, or drops a job.
        _, index = heapq.heappop(heap)
        one = going[index]
        if one.size < one.job.max and one.job.demand.fits_in(free):
            free = free + one.job.demand * -1
            one.size += 1
            heapq.heappush(heap, (-one.gain(foresight), index))


def marks(jobs: Sequence[Job], total: Resources) -> Mapping[str, float]:
    """Return mean completion times by what is known of run times, in seconds."""
    return {
        "nothing": mean_completion_s(jobs, total, foresight=0.0),
        "everything": mean_completion_s(jobs, total, foresight=0.5),
    }
