"""Runs whose outcome can be worked out by hand, and what holds for every run."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dorm.simulate.job import Curve, Job
from dorm.simulate.settings import Delays
from events.errors import DormError
from reconcilers.layout.decide import decide
from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import Options, Snapshot
from tests.simulate.builders import a_job, an_engine, results_of, summary_of
from tests.simulate.policies import everyone_equal, first_come


def test_jobs_that_do_not_fit_together_run_one_after_the_other() -> None:
    """First come, first served on 4 GPUs: 3 + 2 do not fit, so the second waits 100 s."""
    jobs = [a_job("a", reference=3), a_job("b", reference=2, submitted_ms=10_000)]

    apps = results_of(an_engine(jobs))

    assert apps["a"].finished_s == 100
    assert apps["b"].started_s == 100
    assert apps["b"].finished_s == 200
    assert apps["b"].queued_s == 90
    assert apps["b"].completion_s == 190


def test_a_job_that_shrinks_takes_as_long_as_its_work_needs() -> None:
    """Linear speed: 200 s alone on 4 of 4 GPUs, then half of them each.

    a has 400 GPU-seconds; after 50 s 200 are done, and 2 GPUs need 100 s for the rest. b has 100
    GPU-seconds of its own, on 2 GPUs 50 s; then a grows again and needs (200 - 100) / 4 = 25 s.
    """
    jobs = [
        a_job("a", min=1, max=4, reference=4),
        a_job("b", min=1, max=4, submitted_ms=50_000),
    ]

    apps = results_of(an_engine(jobs, decide=everyone_equal))

    assert apps["b"].finished_s == 100
    assert apps["a"].finished_s == 125
    assert [(size.at_s, size.containers) for size in apps["a"].sizes] == [
        *((0, 4), (50, 2), (100, 4), (125, 0))
    ]
    assert apps["a"].restarts == 2


def test_a_restart_costs_its_time_and_the_first_start_nothing() -> None:
    """The same with 10 s a restart: a stands still twice, b never."""
    jobs = [
        a_job("a", min=1, max=4, reference=4),
        a_job("b", min=1, max=4, submitted_ms=50_000),
    ]
    delays = Delays(restart_ms=10_000, round_ms=0)

    apps = results_of(an_engine(jobs, decide=everyone_equal, delays=delays))

    # From 60 s to 100 s a does 2 x 40 = 80 of the 200 left; the other 120 take 30 s from 110 s on.
    assert apps["b"].finished_s == 100
    assert apps["a"].finished_s == 140
    assert apps["a"].lost_s == 20
    assert summary_of(an_engine(jobs, decide=everyone_equal, delays=delays)).overhead == 20 / 190


def test_speed_follows_the_curve() -> None:
    """With alpha = 1 nothing is gained from containers, so 4 of them are as slow as 1."""
    job = a_job("a", min=1, max=4, reference=1, curve=Curve(alpha=1.0))

    assert results_of(an_engine([job]))["a"].finished_s == 100


def test_utilization_is_the_mean_over_time() -> None:
    """3 of 4 GPUs for 100 s, then 2 of 4 for 100 s."""
    jobs = [a_job("a", reference=3), a_job("b", reference=2)]

    summary = summary_of(an_engine(jobs))

    assert summary.resource_utilization["gpu"] == pytest.approx((0.75 + 0.5) / 2)
    assert summary.makespan_s == 200


def test_decisions_are_a_round_apart() -> None:
    """What comes 1 s after a decision waits for the next round, as at the masters."""
    jobs = [a_job("a"), a_job("b", submitted_ms=1_000)]

    apps = results_of(an_engine(jobs, delays=Delays(restart_ms=0, round_ms=30_000)))

    assert apps["a"].started_s == 0
    assert apps["b"].started_s == 30


def test_a_job_that_never_fits_ends_the_run_unfinished() -> None:
    """A trace must not make the simulator run for ever."""
    summary = summary_of(an_engine([a_job("a"), a_job("huge", reference=5)]))

    assert summary.unfinished == 1


def test_a_lost_node_costs_the_work_since_the_last_checkpoint() -> None:
    """Every job comes through failures, later, and its lost time is told."""
    jobs = [a_job(f"job-{index}", alone_s=50_000.0) for index in range(4)]
    delays = Delays(restart_ms=1_000, round_ms=0, mtbf_ms=20_000_000, repair_ms=600_000)

    engine = an_engine(jobs, cluster="4x1gpu", delays=delays)
    apps = results_of(engine)

    assert engine.failures > 0
    assert all(app.finished_s and app.finished_s >= 50_000 for app in apps.values())
    assert sum(app.restarts for app in apps.values()) > 0
    for app in apps.values():
        assert app.run_s - app.lost_s == pytest.approx(50_000)


def test_an_overfull_node_is_the_policys_fault() -> None:
    """The simulator judges policies, so it must not believe them."""

    def greedy(snapshot: Snapshot) -> Decision:
        return Decision(placements={app.app_id: {"node-00000": 3} for app in snapshot.apps})

    with pytest.raises(DormError, match="more on node-00000 than it has"):
        an_engine([a_job("a", reference=3), a_job("b", reference=3)], decide=greedy)


def test_a_size_out_of_bounds_is_the_policys_fault() -> None:
    """A gang with fewer containers than its minimum would hang in reality."""

    def mean(snapshot: Snapshot) -> Decision:
        return Decision(placements={app.app_id: {"node-00000": 1} for app in snapshot.apps})

    with pytest.raises(DormError, match="out of its bounds"):
        an_engine([a_job("a", reference=2)], decide=mean)


def test_rigid_policies_see_the_reference_size_only() -> None:
    """`static` stands for managers without elasticity: a job always has what it asked for."""
    seen: list[tuple[int, int]] = []

    def watch(snapshot: Snapshot) -> Decision:
        seen.extend((app.min, app.max) for app in snapshot.apps)
        return first_come(snapshot)

    job = a_job("a", min=1, max=4, reference=2)
    an_engine([job], decide=watch, options=Options(policy="static"))

    assert set(seen) == {(2, 2)}


def test_speeds_may_be_hidden_from_the_policy() -> None:
    """In reality nobody knows the curve of a new application."""
    seen: list[int] = []

    def watch(snapshot: Snapshot) -> Decision:
        seen.extend(len(app.speed) for app in snapshot.apps)
        return first_come(snapshot)

    an_engine([a_job("a", min=1, max=4)], decide=watch, speeds="none")
    assert set(seen) == {0}

    an_engine([a_job("a", min=1, max=4)], decide=watch, speeds="given")
    assert seen[-1] == 3  # 1, 2 and 4 containers


jobs_of_any_kind = st.lists(
    st.builds(
        lambda low, more, at_s, length, alpha: (low, low + more, at_s, length, alpha),
        st.integers(1, 3),
        st.integers(0, 3),
        st.integers(0, 500),
        st.integers(1, 1_000),
        st.floats(0, 0.5),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=30, deadline=None)
@given(rows=jobs_of_any_kind, policy=st.sampled_from(["drf", "static", "first_come"]))
def test_the_work_done_is_the_work_asked(
    rows: list[tuple[int, int, int, int, float]], policy: str
) -> None:
    """Over all sizes an application had, speed times time without restarts is its work."""
    jobs = _jobs(rows)
    chosen = first_come if policy == "first_come" else decide
    name = "drf" if policy == "first_come" else policy

    engine = an_engine(
        jobs,
        decide=chosen,
        cluster="3x2gpu",
        delays=Delays(restart_ms=5_000, round_ms=1_000),
        options=Options(policy=name, min_run_ms=20_000),
    )

    for run in engine.runs:
        assert run.finished_ms is not None
        sizes = [*run.sizes, (run.finished_ms, 0)]
        first = True
        done = 0.0
        for (at_ms, size), (until_ms, _) in pairwise(sizes):
            pause_ms = 0 if first else min(run.restart_ms, until_ms - at_ms)
            first = first and not size
            done += run.job.curve.speed(size) * max(0, until_ms - at_ms - pause_ms) / 1000
        assert done == pytest.approx(run.job.work, rel=1e-6, abs=0.01)


@settings(max_examples=6, deadline=None)
@given(rows=jobs_of_any_kind)
def test_equal_seeds_give_equal_runs(rows: list[tuple[int, int, int, int, float]]) -> None:
    """A result that cannot be had again proves nothing."""
    delays = Delays(restart_ms=5_000, spread=0.5, mtbf_ms=1_000_000, repair_ms=60_000)

    first, second = (
        results_of(an_engine(_jobs(rows), decide=decide, cluster="4x2gpu", delays=delays, seed=7))
        for _ in range(2)
    )

    assert first == second


def _jobs(rows: list[tuple[int, int, int, int, float]]) -> list[Job]:
    rows = sorted(rows, key=lambda row: row[2])
    return [
        a_job(
            f"job-{number}",
            min=low,
            max=high,
            reference=low,
            submitted_ms=at_s * 1000,
            alone_s=float(length),
            curve=Curve(alpha=alpha),
        )
        for number, (low, high, at_s, length, alpha) in enumerate(rows)
    ]


def test_hasty_touches_are_counted() -> None:
    """The count that has to be 0 for our policies is not 0 for one that has no patience.

    a is disturbed at 50 s, when b comes, and again at 100 s, when b ends: too soon.
    """
    jobs = [
        a_job("a", min=1, max=4, reference=4),
        a_job("b", min=1, max=4, submitted_ms=50_000),
    ]

    hasty = an_engine(jobs, decide=everyone_equal, options=Options(policy="drf", min_run_ms=60_000))

    assert summary_of(hasty).hasty_touches == 1


def test_time_alone_brings_another_decision_while_something_waits() -> None:
    """As at the masters: a gang may have waited long enough only when nothing else happens."""
    times: list[int] = []

    def watch(snapshot: Snapshot) -> Decision:
        times.append(max(app.age_ms for app in snapshot.apps))
        return first_come(snapshot)

    jobs = [a_job("a", reference=4, alone_s=1_000.0), a_job("b", reference=4)]
    options = Options(policy="drf", min_run_ms=0, gang_wait_ms=60_000)
    an_engine(jobs, decide=watch, options=options)

    assert len(times) > 10  # every minute of the 1,000 s that b waits
