"""The marks that docs/evaluation.md holds our figures against."""

import pytest

from dorm.simulate.job import Curve, Job
from dorm.simulate.results import AppResult, SizeAt
from events.units import Resources
from tests.bench.evaluation_bounds import highest_utilization
from tests.bench.evaluation_clairvoyant import mean_completion_s
from tests.bench.evaluation_reasons import fair_sizes, slowed
from tests.simulate.report.samples import results

POOL = Resources(cpu_milli=8_000)
CPU = Resources(cpu_milli=1_000)


def a_job(name: str, *, at_s: int = 0, most: int = 8, alone_s: float = 100.0) -> Job:
    """Return a job of one-cpu containers that works as fast as it has containers."""
    return Job(
        app_id=name,
        name=name,
        submitted_ms=at_s * 1000,
        demand=CPU,
        min=1,
        max=most,
        reference=1,
        alone_s=alone_s,
        curve=Curve(),
    )


def test_a_cluster_is_no_fuller_than_its_applications_can_make_it() -> None:
    """Four of eight cpus for half of the time: a quarter, whatever the policy."""
    late = a_job("a", at_s=50, most=4, alone_s=1e6)

    assert highest_utilization([late], POOL, until_s=100) == pytest.approx(0.25)


def test_work_that_is_done_fills_nothing() -> None:
    """160 container-seconds in 100 seconds of 8 cpus; without an end it would be all of them."""
    short = a_job("a", alone_s=160.0)

    assert highest_utilization([short], POOL, until_s=100) == pytest.approx(0.2)
    assert highest_utilization([short], POOL, until_s=100, is_endless=True) == pytest.approx(1.0)


def test_a_full_cluster_is_full_once() -> None:
    """Two that could fill it each make no more than 1 of one resource."""
    jobs = [a_job("a", alone_s=1e6), a_job("b", alone_s=1e6)]

    assert highest_utilization(jobs, POOL, until_s=100) == pytest.approx(1.0)


def test_who_knows_run_times_serves_the_short_one_first() -> None:
    """10 and 100 seconds of the whole pool: ends after 10 and 110, not after 110 and 100."""
    jobs = [a_job("short", alone_s=80.0), a_job("long", alone_s=800.0)]

    assert mean_completion_s(jobs, POOL, foresight=0.5) == pytest.approx((10 + 110) / 2)
    assert mean_completion_s(jobs, POOL, foresight=0.0) == pytest.approx((100 + 110) / 2)


def test_fair_sizes_follow_weights_and_who_is_there() -> None:
    """Alone it may have all that it can use; beside one of three times its weight, a quarter."""
    apps = [_app("a", weight=1.0, end_s=100.0), _app("b", weight=3.0, end_s=50.0)]

    sizes = fair_sizes(apps, {"cpu": 8.0, "memory": 0.0, "gpu": 0.0})

    assert sizes == pytest.approx({"a": (2 + 8) / 2, "b": 6.0})


def test_only_those_that_ended_later_are_slow() -> None:
    """Nobody is slower than himself."""
    found = results(("static", "goodput"), apps=12)
    base, ours = found.runs

    slow = slowed(ours, base, found)

    assert [] == slowed(base, base, found)
    assert all(one.speedup < 1 for one in slow)
    assert sorted(slow, key=lambda one: one.speedup) == slow


def _app(name: str, *, weight: float, end_s: float) -> AppResult:
    return AppResult(
        app_id=name,
        name=name,
        min=1,
        max=8,
        weight=weight,
        demand={"cpu": 1.0, "memory": 0.0, "gpu": 0.0},
        reference_containers=4,
        alone_s=100.0,
        submitted_s=0.0,
        finished_s=end_s,
        sizes=(SizeAt(at_s=0.0, containers=4),),
    )
