"""A job of a trace: how much work it is, and how fast which size of it works."""

from collections.abc import Sequence
from typing import Final

import attrs
from attrs.validators import ge, gt

from events.units import Resources
from reconcilers.layout.snapshot import SpeedPoint

SECOND_MS: Final = 1_000


@attrs.frozen(kw_only=True)
class Curve:
    """Speed by size, in multiples of one container's speed.

    With `alpha` it is `n / (1 + alpha (n - 1))`: the time of a step is a part that `n` containers
    share and a part that each adds, such as an exchange of gradients (Amdahl's law; Gunther's
    universal scalability law without its second term). With `points` it is linear between the
    points, proportional below the first, and flat above the last.
    """

    alpha: float = attrs.field(default=0.0, validator=ge(0))
    points: tuple[tuple[int, float], ...] = ()

    def speed(self, containers: int) -> float:
        """Return the speed of so many containers."""
        if containers <= 0:
            return 0.0
        if self.points:
            return _between(self.points, containers)
        return containers / (1 + self.alpha * (containers - 1))


@attrs.frozen(kw_only=True)
class Job:
    """One application of a trace.

    Attributes:
        demand: Of one container.
        reference: The size that `alone_s` was measured at.
        alone_s: Run time at that size, without queueing and restarts.
        curve: None if nobody knows: it then works as fast as it has containers.
    """

    app_id: str
    name: str
    kind: str = ""
    submitted_ms: int = attrs.field(validator=ge(0))
    demand: Resources
    min: int = attrs.field(validator=ge(1))
    max: int
    reference: int = attrs.field(validator=ge(1))
    alone_s: float = attrs.field(validator=gt(0))
    weight: float = attrs.field(default=1.0, validator=gt(0))
    priority: int = 0
    curve: Curve = Curve()

    @property
    def work(self) -> float:
        """Return what there is to do, in seconds of one container."""
        return self.alone_s * self.curve.speed(self.reference)

    def rigid(self) -> "Job":
        """Return the job as a manager without elasticity sees it: always its reference size."""
        return attrs.evolve(self, min=self.reference, max=self.reference)


def speed_points(job: Job) -> tuple[SpeedPoint, ...]:
    """Return the curve at the sizes that matter: the bounds, and doublings between them.

    A curve that is straight between doublings is within 3 % of `n / (1 + a (n - 1))`.
    """
    sizes = {job.min, job.max, *(1 << power for power in range(job.max.bit_length()))}
    return tuple(
        SpeedPoint(containers=size, speed=job.curve.speed(size))
        for size in sorted(sizes)
        if job.min <= size <= job.max
    )


def _between(points: Sequence[tuple[int, float]], containers: int) -> float:
    below, speed_below = 0, 0.0
    for size, speed in points:
        if containers <= size:
            return speed_below + (speed - speed_below) * (containers - below) / (size - below)
        below, speed_below = size, speed
    return speed_below
