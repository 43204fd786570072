"""Jobs, clusters and runs with only what a test is about."""

from collections.abc import Sequence
from typing import Any

from dorm.simulate.agenda import Agenda
from dorm.simulate.app_run import result_of
from dorm.simulate.clusters import read_cluster
from dorm.simulate.engine import Engine
from dorm.simulate.job import Curve, Job
from dorm.simulate.layout_world import Decide, LayoutWorld
from dorm.simulate.metrics import summarize
from dorm.simulate.results import AppResult, Summary
from dorm.simulate.settings import Delays, RunSettings
from events.units import Resources
from reconcilers.layout.snapshot import Options
from tests.simulate.policies import first_come

INSTANT = Delays(restart_ms=0, round_ms=0)


def a_job(app_id: str, **fields: Any) -> Job:  # noqa: ANN401 - fields of a job
    """Return a job of one GPU for 100 s, submitted at 0, that cannot be resized."""
    size = fields.get("reference", 1)
    defaults = {
        "name": app_id,
        "submitted_ms": 0,
        "demand": Resources(gpu_count=1),
        "min": size,
        "max": size,
        "reference": size,
        "alone_s": 100.0,
        "curve": Curve(),
    }
    return Job(app_id=app_id, **defaults | fields)


def an_engine(
    jobs: Sequence[Job],
    *,
    decide: Decide = first_come,
    cluster: str = "1x4gpu",
    delays: Delays = INSTANT,
    **settings: Any,  # noqa: ANN401 - fields of the settings
) -> Engine:
    """Return a run that has ended."""
    options = settings.pop("options", Options(policy="drf", min_run_ms=0))
    run_settings = RunSettings(label="test", options=options, delays=delays, **settings)
    nodes, agenda = read_cluster(cluster), Agenda()
    engine = Engine(
        cluster=nodes,
        jobs=jobs,
        settings=run_settings,
        agenda=agenda,
        world=LayoutWorld(nodes, run_settings, agenda, decide),
    )
    engine.run()
    return engine


def results_of(engine: Engine) -> dict[str, AppResult]:
    """Return what became of each job."""
    return {run.job.app_id: result_of(run) for run in engine.runs}


def summary_of(engine: Engine) -> Summary:
    """Return the figures of a run."""
    return summarize(engine.recorder, tuple(results_of(engine).values()), cpu_s=0.0, wall_s=0.0)
