"""Why a figure is not higher: how full the cluster could be, what is fair, what foresight buys."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from dorm.simulate.job import Job
from dorm.simulate.report.groups import Group
from dorm.simulate.report.table import markdown
from dorm.simulate.results import AppResult, PolicyRun, Results
from dorm.simulate.workloads import GIB, WORKLOADS
from events.units import Resources
from reconcilers.layout.optimizer.shares import Claims, fair_shares
from tests.bench.evaluation_bounds import highest_utilization
from tests.bench.evaluation_clairvoyant import marks
from tests.bench.evaluation_queues import two_queues_s

SLOWED = 0.995  # a speed-up below it is a slow-down, not the 10 seconds between two decisions
HOUR_S = 3_600


@attrs.frozen(kw_only=True)
class Slowed:
    """An application that ended later than under the baseline.

    Attributes:
        speedup: Below 1.
        fair: Containers that its fair share was, mean over its time.
        had: Containers that it had, mean over its time.
        fixed: Containers that the baseline gave it.
    """

    app_id: str
    weight: float
    speedup: float
    fair: float
    had: float
    fixed: int


def utilization_table(results: Results, base: Group, ours: Sequence[Group]) -> str:
    """Return, seed by seed, utilization in the first five hours next to what is possible."""
    rows = []
    for run in base.runs:
        jobs, total = _jobs(results, run.seed), _total(results)
        fixed = run.summary.utilization_5h
        found = [_run(group, run.seed).summary.utilization_5h for group in ours]
        bound = highest_utilization(jobs, total)
        endless = highest_utilization(jobs, total, is_endless=True)
        values = (*found, bound, endless)
        rows.append(
            [
                str(run.seed),
                f"{fixed:.2f}",
                *(f"{value:.2f} ({value / fixed:.2f}x)" for value in values),
            ]
        )
    labels = [group.label for group in ours]
    columns = ["seed", base.label, *labels, "most possible", "most if nothing ended"]
    return markdown(columns, rows)


def completion_table(results: Results, base: Group, ours: Sequence[Group]) -> str:
    """Return, seed by seed, mean completion times in hours next to three marks."""
    rows = []
    for run in base.runs:
        jobs = _jobs(results, run.seed)
        known = marks(jobs, _total(results))
        fixed, apart = run.summary.completion_s.mean, two_queues_s(jobs, results.cluster)
        found = [_run(group, run.seed).summary.completion_s.mean for group in ours]
        values = (*found, known["nothing"], known["everything"])
        rows.append(
            [
                str(run.seed),
                *(f"{value / HOUR_S:.2f}" for value in (fixed, apart)),
                *(f"{value / HOUR_S:.2f} ({fixed / value:.2f}x)" for value in values),
            ]
        )
    labels = [group.label for group in ours]
    names = [f"{base.label}, GPU queue apart", *labels, "free of all rules", "and clairvoyant"]
    return markdown(["seed", base.label, *names], rows)


def slowed_table(results: Results, groups: Sequence[Group]) -> str:
    """Return how many applications are slowed down, and of how many less was the fair share."""
    rows = []
    for group in groups:
        found = [one for run in group.runs for one in slowed(run, group.rivals[run.seed], results)]
        count = sum(len(run.apps) for run in group.runs)
        rows.append(
            [
                group.label,
                f"{len(found)} of {count}",
                str(sum(one.fair < one.fixed for one in found)),
                str(sum(one.fair < one.fixed and one.had < one.fair * 0.95 for one in found)),
                f"{min((one.speedup for one in found), default=1.0):.2f}x",
            ]
        )
    columns = ["", "slower than under static", "fair share below the static size"]
    return markdown([*columns, "of these, with less than 95 % of the fair share", "worst"], rows)


def slowed(run: PolicyRun, base: PolicyRun, results: Results) -> list[Slowed]:
    """Return the applications that ended later than under the baseline, the worst first."""
    before = {app.app_id: app.completion_s for app in base.apps}
    fair = fair_sizes(run.apps, results.capacity)
    found = []
    for app in run.apps:
        then, now = before.get(app.app_id), app.completion_s
        if then and now and then / now < SLOWED:
            found.append(
                Slowed(
                    app_id=app.app_id,
                    weight=app.weight,
                    speedup=then / now,
                    fair=fair[app.app_id],
                    had=_mean_size(app),
                    fixed=app.reference_containers,
                )
            )
    return sorted(found, key=lambda one: one.speedup)


def fair_sizes(apps: Sequence[AppResult], capacity: Mapping[str, float]) -> Mapping[str, float]:
    """Return the containers that are fair for each application, mean from submit to end.

    Shares are the paper's: weighted dominant-resource fairness of all in one pool.
    """
    ended = [app for app in apps if app.finished_s is not None]
    borders = sorted({at for app in ended for at in (app.submitted_s, app.finished_s or 0.0)})
    sums = {app.app_id: 0.0 for app in ended}
    for start_s, end_s in itertools.pairwise(borders):
        there = [a for a in ended if a.submitted_s <= start_s and (a.finished_s or 0.0) >= end_s]
        for app, size in zip(there, _fair(there, capacity), strict=True):
            sums[app.app_id] += size * (end_s - start_s)
    return {app.app_id: sums[app.app_id] / (app.completion_s or 1.0) for app in ended}


def _fair(apps: Sequence[AppResult], capacity: Mapping[str, float]) -> list[float]:
    if not apps:
        return []
    names = ("cpu", "memory", "gpu")
    pool = [capacity.get(name) or math.inf for name in names]
    demand = [[app.demand.get(name, 0.0) for name in names] for app in apps]
    part = np.array(demand) / np.array(pool)
    unit = part.max(axis=1)
    claims = Claims(
        use=part / unit[:, None],
        floor=np.zeros(len(apps)),
        ceiling=unit * np.array([app.max for app in apps]),
        weight=np.array([app.weight for app in apps]),
    )
    sizes: list[float] = (fair_shares(claims, np.ones(len(names))) / unit).tolist()
    return sizes


def _mean_size(app: AppResult) -> float:
    ends = [*(change.at_s for change in app.sizes[1:]), app.finished_s or 0.0]
    spans = zip(app.sizes, ends, strict=True)
    held = math.fsum(change.containers * (end_s - change.at_s) for change, end_s in spans)
    return held / (app.completion_s or 1.0)


def _jobs(results: Results, seed: int) -> Sequence[Job]:
    return WORKLOADS[results.trace](seed)


def _total(results: Results) -> Resources:
    amounts = results.capacity
    return Resources(
        cpu_milli=round(amounts["cpu"] * 1000),
        memory_bytes=round(amounts["memory"] * GIB),
        gpu_count=round(amounts["gpu"]),
    )


def _run(group: Group, seed: int) -> PolicyRun:
    return next(run for run in group.runs if run.seed == seed)


def tables(results: Results, groups: Sequence[Group], shown: Sequence[str]) -> Iterator[str]:
    """Yield headings and tables.

    Args:
        results: Of a trace that is generated from a seed: the tables need the jobs.
        groups: All of the results.
        shown: Labels of the policies that the tables by seed are about.
    """
    base = next(group for group in groups if group.is_baseline)
    rivals = [group for group in groups if not group.is_baseline]
    ours = [group for group in rivals if group.label in shown]
    yield "### Seed by seed: how full the cluster could be"
    yield utilization_table(results, base, ours)
    yield "### Seed by seed: mean completion times, in hours"
    yield completion_table(results, base, ours)
    yield "### Who is slower than with a fixed partition"
    yield slowed_table(results, rivals)
