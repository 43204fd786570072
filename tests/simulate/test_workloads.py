"""Generated workloads."""

import attrs
import pytest

from dorm.simulate.job import Curve, speed_points
from dorm.simulate.workloads import WORKLOADS, paper
from tests.simulate.builders import a_job


def test_the_papers_workload_is_as_the_paper_says() -> None:
    """20 + 20 + 10 applications, 20 minutes apart, 5 hours long: means over many seeds."""
    seeds = [paper(seed) for seed in range(40)]

    assert {kind: sum(job.kind == kind for job in seeds[0]) for kind in ("LR", "MF", "GPU")} == {
        "LR": 20,
        "MF": 20,
        "GPU": 10,
    }
    last_s = [jobs[-1].submitted_ms / 1000 for jobs in seeds]
    assert sum(last_s) / len(seeds) == pytest.approx(50 * 1_200, rel=0.1)
    lengths = [job.alone_s for jobs in seeds for job in jobs]
    assert sum(lengths) / len(lengths) == pytest.approx(5 * 3_600, rel=0.1)


def test_a_seed_is_a_workload() -> None:
    """The same on every machine; another seed is another one."""
    assert paper(3) == paper(3)
    assert paper(3) != paper(4)


def test_a_lighter_load_is_the_same_applications_farther_apart() -> None:
    """So that a comparison of loads compares nothing else."""
    usual, light = paper(3), WORKLOADS["paper-40m"](3)

    assert [job.submitted_ms * 2 for job in usual] == pytest.approx(
        [job.submitted_ms for job in light], abs=2
    )
    assert [attrs.evolve(job, submitted_ms=0) for job in usual] == [
        attrs.evolve(job, submitted_ms=0) for job in light
    ]


def test_a_curve_of_points_is_linear_between_them() -> None:
    """Proportional below the first, flat above the last: nothing is known there."""
    curve = Curve(points=((2, 2.0), (4, 3.0)))

    speeds = [curve.speed(size) for size in (0, 1, 2, 3, 4, 9)]

    assert speeds == [0, 1, 2, 2.5, 3, 3]


def test_policies_get_the_curve_at_bounds_and_doublings() -> None:
    """Few points, for many jobs."""
    job = a_job("a", min=3, max=20, reference=3)

    assert [point.containers for point in speed_points(job)] == [3, 4, 8, 16, 20]
