"""The world with every event: as `layout`, but by the masters' own code."""

import pytest

from dorm.simulate.clusters import read_cluster
from dorm.simulate.engine import Engine
from dorm.simulate.facts_world import FactsWorld
from dorm.simulate.job import Curve, Job
from dorm.simulate.runs import Order, engine_of
from dorm.simulate.settings import Delays, RunSettings, Speeds
from dorm.simulate.workloads import paper
from events.invariants import check
from reconcilers.layout.snapshot import Options
from tests.simulate.builders import a_job, results_of, summary_of

GANG = Delays(restart_ms=20_000, round_ms=1_000)


def a_run(
    *jobs: Job,
    policy: str = "drf",
    cluster: str = "2x2gpu",
    delays: Delays = GANG,
    speeds: Speeds = "given",
    seed: int = 0,
) -> Engine:
    """Return a run at fidelity `facts` that has ended."""
    settings = RunSettings(
        label=policy,
        options=Options(policy=policy, min_run_ms=60_000),
        fidelity="facts",
        delays=delays,
        speeds=speeds,
        seed=seed,
    )
    order = Order(cluster=read_cluster(cluster), jobs=jobs, settings=settings)
    engine = engine_of(order, tell=lambda _at_s, _done: None)
    engine.run()
    return engine


def state_of(engine: Engine) -> FactsWorld:
    """Return the world of such a run."""
    assert isinstance(engine.world, FactsWorld)
    return engine.world


def test_a_job_starts_works_and_ends() -> None:
    """Half of a restart's 20 s passes from the start of containers until they work."""
    engine = a_run(a_job("a", reference=2))

    (app,) = results_of(engine).values()
    assert app.started_s == 0
    assert app.finished_s == 110
    assert app.lost_s == 10
    assert state_of(engine).state.finished["a"].phase == "completed"


def test_a_resize_goes_through_checkpoint_stop_and_start() -> None:
    """When b comes, a gives up half; it stands still for 20 s, and the work is kept.

    a has 4 x 1,000 GPU-seconds. From 10 s to 200 s it does 760 of them on 4 GPUs, then stops.
    """
    a = a_job("a", min=1, max=4, reference=4, alone_s=1_000.0)
    b = a_job("b", min=1, max=4, reference=2, submitted_ms=200_000, alone_s=1_000.0)

    engine = a_run(a, b)

    apps = results_of(engine)
    assert [(size.at_s, size.containers) for size in apps["a"].sizes[:3]] == [
        *((0, 4), (210, 0), (210, 2))
    ]
    assert apps["b"].started_s == 210
    assert apps["b"].finished_s == 1_220  # 2 x 1,000 GPU-seconds on 2 GPUs, 10 s to begin
    assert apps["a"].restarts == 2
    assert apps["a"].queued_s == 0
    assert state_of(engine).state.finished["a"].resizes == 2


def test_masters_measure_restarts_and_learn_speeds() -> None:
    """What the goodput policy goes by: a touch takes 20 s, and steps at two sizes give a curve."""
    a = a_job("a", min=1, max=4, reference=4, alone_s=1_000.0, curve=Curve(alpha=0.25))
    b = a_job("b", min=1, max=4, reference=2, submitted_ms=200_000, alone_s=300.0)

    app = state_of(a_run(a, b, speeds="none")).state.finished["a"]

    assert app.restart_ms == 20_000
    speeds = {size: seen.steps / seen.ms for size, seen in app.speeds.items()}
    assert speeds[4] == pytest.approx(4 / 1.75, rel=0.01)
    assert speeds[2] == pytest.approx(2 / 1.25, rel=0.01)


def test_the_paper_workload_agrees_with_the_coarse_fidelity() -> None:
    """The coarse world leaves out how containers come and go, not what comes of it."""
    means = {}
    for fidelity in ("layout", "facts"):
        settings = RunSettings(label="static", options=Options(policy="static"), fidelity=fidelity)
        order = Order(
            cluster=read_cluster("15x12cpu128g+5x12cpu128g1gpu"), jobs=paper(0), settings=settings
        )
        engine = engine_of(order, tell=lambda _at_s, _done: None)
        engine.run()
        means[fidelity] = summary_of(engine).completion_s.mean

    assert means["facts"] == pytest.approx(means["layout"], rel=0.01)


def test_jobs_survive_lost_nodes() -> None:
    """A lost node stops a whole job, which is retried and goes on from its checkpoint."""
    delays = Delays(restart_ms=20_000, round_ms=1_000, mtbf_ms=8_000_000, repair_ms=300_000)
    jobs = [a_job(f"job-{index}", reference=2, alone_s=20_000.0) for index in range(4)]

    engine = a_run(*jobs, cluster="4x2gpu", delays=delays)

    assert engine.failures > 0
    apps = results_of(engine).values()
    assert sum(app.restarts for app in apps) > 0
    assert all(app.finished_s and app.finished_s > 20_000 for app in apps)
    for app in apps:
        assert app.run_s - app.lost_s == pytest.approx(20_000, abs=0.1)
    check(state_of(engine).state)


def test_equal_seeds_give_equal_histories() -> None:
    """Down to the last event: the folded states are equal."""
    delays = Delays(restart_ms=20_000, spread=0.5, mtbf_ms=5_000_000, repair_ms=60_000)
    jobs = [a_job(f"job-{index}", min=1, max=4, alone_s=3_000.0) for index in range(5)]

    first, second = (a_run(*jobs, delays=delays, seed=3) for _ in range(2))

    assert state_of(first).state == state_of(second).state
    assert results_of(first) == results_of(second)


def test_a_job_that_never_fits_ends_the_run_unfinished() -> None:
    """As at the coarse fidelity."""
    assert summary_of(a_run(a_job("a"), a_job("huge", reference=5))).unfinished == 1
