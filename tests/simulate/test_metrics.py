"""The figures of a run, against values worked out by hand."""

import pytest

from dorm.simulate.app_run import AppRun
from dorm.simulate.fair import loss_of
from dorm.simulate.metrics import compared, distribution, summarize
from dorm.simulate.recorder import MOMENTS_MAX, Recorder
from dorm.simulate.results import (
    AppResult,
    Distribution,
    PolicyRun,
    Results,
    Summary,
    from_json,
    to_json,
)
from events.errors import Rejected
from events.units import Resources
from tests.simulate.builders import a_job, an_engine, results_of, summary_of

FOUR_GPUS = Resources(gpu_count=4)


def having(app_id: str, containers: int, **fields: object) -> AppRun:
    """Return a job that has so many containers."""
    run = AppRun(job=a_job(app_id, **fields), asked=a_job(app_id, **fields), restart_ms=0)
    run.size = containers
    return run


def test_a_distribution_has_nearest_rank_percentiles() -> None:
    """Of 1 to 100 the 90th percentile is 90, not something between two values."""
    found = distribution(float(value) for value in range(100, 0, -1))

    assert found == Distribution(count=100, mean=50.5, min=1, p50=50, p90=90, p99=99, max=100)
    assert distribution([]) == Distribution()
    assert distribution([7.0]).p50 == 7


def test_nobody_is_treated_unfairly_when_all_have_their_share() -> None:
    """Two jobs of weight 1 and 3 on 4 GPUs: 1 and 3 are fair."""
    runs = [
        having("a", 1, min=1, max=4),
        having("b", 3, min=1, max=4, weight=3.0),
    ]

    assert loss_of(runs, FOUR_GPUS).floor_aware == pytest.approx(0)
    assert loss_of(runs, FOUR_GPUS).paper == pytest.approx(0)


def test_the_loss_is_the_sum_of_distances() -> None:
    """Equal weights: 2 and 2 would be fair, so 1 and 3 are a quarter away each."""
    runs = [having("a", 1, min=1, max=4), having("b", 3, min=1, max=4)]

    assert loss_of(runs, FOUR_GPUS).floor_aware == pytest.approx(0.5)


def test_only_the_papers_shares_ignore_minimums() -> None:
    """A gang of 3 of 4 GPUs beside a small job: fair is 3 and 1, in the paper 2 and 2."""
    runs = [having("gang", 3, min=3, max=3, reference=3), having("b", 1, min=1, max=4)]

    loss = loss_of(runs, FOUR_GPUS)

    assert loss.floor_aware == pytest.approx(0)
    assert loss.paper == pytest.approx(0.5)


def test_a_gang_that_does_not_fit_beside_older_ones_is_due_nothing_yet() -> None:
    """Otherwise a long queue alone would look like an unfair policy."""
    runs = [having("a", 3, reference=3), having("b", 0, reference=3), having("c", 1)]

    assert loss_of(runs, FOUR_GPUS).floor_aware == pytest.approx(0)


def test_speed_ups_are_by_application_and_seed() -> None:
    """Each application against itself under the baseline, of the same seed."""

    def a_run(label: str, seed: int, ends: dict[str, float]) -> PolicyRun:
        apps = tuple(
            AppResult(
                app_id=app_id,
                name=app_id,
                min=1,
                max=1,
                demand={},
                reference_containers=1,
                alone_s=1,
                submitted_s=0,
                finished_s=end,
            )
            for app_id, end in ends.items()
        )
        summary = summarize(Recorder(), apps, cpu_s=0, wall_s=0)
        return PolicyRun(
            policy=label, label=label, seed=seed, options={}, summary=summary, apps=apps,
            moments=(), decisions=(),
        )  # fmt: skip

    runs = [
        a_run("static", 0, {"a": 100, "b": 400}),
        a_run("static", 1, {"a": 1}),
        a_run("goodput", 0, {"a": 50, "b": 200}),
    ]

    static, _, goodput = compared(runs, "static")

    assert goodput.summary.speedup.mean == 2
    assert goodput.summary.speedup_of_mean == 2
    assert static.summary.speedup_of_mean == 1


def test_long_runs_are_thinned_to_averages() -> None:
    """A plot has fewer pixels than a week has events; the mean over time stays."""
    recorder = Recorder()
    for step in range(1, 5_001):
        busy = Resources(gpu_count=step % 2)
        recorder.advance(step * 1_000, busy, FOUR_GPUS, (1, 0, step % 2))

    moments = recorder.moments()

    assert len(moments) <= MOMENTS_MAX + 1
    mean = sum(moment.gpu for moment in moments[:-1]) / (len(moments) - 1)
    assert mean == pytest.approx(recorder.average("gpu"), rel=1e-3)
    assert recorder.average("gpu") == pytest.approx(0.125)
    assert recorder.average("gpu", 1_000) == 0.25
    assert recorder.peak("containers") == 1


def test_results_survive_json() -> None:
    """The report can be made again from the file."""
    engine = an_engine([a_job("a"), a_job("b")])
    apps = tuple(results_of(engine).values())
    run = PolicyRun(
        policy="drf",
        label="drf:loss=0.1",
        seed=3,
        options={"policy": "drf", "loss_factor": 0.1, "certify": True},
        summary=summary_of(engine),
        apps=apps,
        moments=engine.recorder.moments(),
        decisions=engine.recorder.thinned_decisions(),
    )
    results = Results(
        trace="t", cluster="1x4gpu", nodes=1, capacity={"gpu": 4.0}, fidelity="layout",
        restart_s=60.0, round_s=10.0, runs=(run,), notes=("a note",),
    )  # fmt: skip

    assert from_json(to_json(results)) == results
    assert isinstance(run.summary, Summary)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[1]", b"\xff"])
def test_other_files_are_no_results(raw: bytes) -> None:
    """A report of nothing would be an empty page."""
    with pytest.raises(Rejected, match="no result"):
        from_json(raw)
