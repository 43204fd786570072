"""Results to draw: one cluster that shares itself equally, or hands out fixed partitions.

Far simpler than the simulator, so that tests of the report need no optimizer and take no time; but
consistent, so that the plots look as they will: every application works at the size it has.
"""

import statistics
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import attrs

from dorm.simulate.results import (
    AppResult,
    DecisionResult,
    Distribution,
    Moment,
    PolicyRun,
    Results,
    SizeAt,
    Summary,
)

SLOTS: Final = 120  # containers of 2 cpus on 20 machines of 12
RESTART_S: Final = 60.0
KINDS: Final = ("LR", "MF", "CNN")


@attrs.define(kw_only=True)
class Running:
    """One application of the small cluster, while it is there."""

    app_id: str
    kind: str
    submitted_s: float
    work_s: float
    alone_s: float = 0.0
    size: int = 0
    started_s: float | None = None
    finished_s: float | None = None
    restarts: int = 0
    sizes: list[SizeAt] = attrs.field(factory=list)


def results(
    policies: Sequence[str] = ("static", "two-level", "drf", "utilization", "goodput"),
    *,
    apps: int = 50,
    seeds: int = 1,
    baseline: str = "static",
) -> Results:
    """Return the results of a few policies on one trace."""
    runs = [a_run(label, apps=apps, seed=seed) for label in policies for seed in range(seeds)]
    return Results(
        trace="paper",
        cluster="20x12cpu",
        nodes=20,
        capacity={"cpu": 240.0, "memory": 2_560.0, "gpu": 5.0},
        fidelity="layout",
        restart_s=RESTART_S,
        round_s=10,
        baseline=baseline if baseline in policies else "",
        runs=tuple(_against(runs, run, baseline) for run in runs),
        notes=("Run times are lognormal.",),
        version="0.1.0",
        command="dorm simulate paper --nodes 20x12cpu",
    )


def a_run(label: str, *, apps: int, seed: int = 0) -> PolicyRun:
    """Return what one policy did; all but `static` are elastic, the later the more."""
    chance = Random(seed)
    at, trace = 0.0, []
    for number in range(apps):
        kind = KINDS[(0, 0, 1, 1, 2)[number % 5]]
        work_s = chance.lognormvariate(9.6, 0.8)
        trace.append(
            Running(
                app_id=f"{kind.lower()}-{number}",
                kind=kind,
                submitted_s=at,
                work_s=work_s,
                alone_s=work_s,
            )
        )
        at += chance.expovariate(1 / 800)
    moments, decisions = _simulate(trace, label, Random(seed + 1))
    done = tuple(_result(app) for app in trace)
    return PolicyRun(
        policy=label.partition(":")[0],
        label=label,
        seed=seed,
        options={"policy": label.partition(":")[0], "loss_factor": 0.2},
        summary=_summary(done, moments, decisions),
        apps=done,
        moments=tuple(moments),
        decisions=tuple(decisions),
    )


def _simulate(
    trace: list[Running], label: str, chance: Random
) -> tuple[list[Moment], list[DecisionResult]]:
    now, moments, decisions = 0.0, list[Moment](), list[DecisionResult]()
    while any(app.finished_s is None for app in trace):
        present = [app for app in trace if app.submitted_s <= now and app.finished_s is None]
        touched = _resize(present, label, now)
        moments.append(_moment(present, now))
        is_exact = label in ("static", "two-level")
        decisions.append(
            DecisionResult(
                at_s=now,
                cpu_ms=chance.lognormvariate(0.5 if is_exact else 4, 0.5),
                apps=len(present),
                touched=touched,
                objective=moments[-1].utilization,
                gap=0.0 if is_exact else chance.random() * 4e-3,
                loss=moments[-1].loss,
                loss_bound=0.0 if is_exact else 1.2,
            )
        )
        now = _advance(trace, present, now)
    return moments, decisions


def _resize(present: list[Running], label: str, now: float) -> int:
    free, touched = SLOTS, 0
    most = {"static": 8, "two-level": 12, "drf": 20, "utilization": 24}.get(label, 32)
    for left, app in zip(range(len(present), 0, -1), present, strict=True):
        size = min(8, free) if label == "static" else min(most, max(free // left, min(2, free)))
        if label == "static" and size < 8:
            size = 0
        free -= size
        if size != app.size:
            touched += app.size > 0
            app.restarts += app.size > 0
            app.started_s = now if app.started_s is None and size else app.started_s
            app.size = size
            app.sizes.append(SizeAt(at_s=now, containers=size))
    return touched


def _advance(trace: list[Running], present: list[Running], now: float) -> float:
    """Let everything work until the next arrival or end; return when that is."""
    ends = [now + app.work_s / _speed(app.size) for app in present if app.size]
    until = min(*ends, *(app.submitted_s for app in trace if app.submitted_s > now), 1e12)
    for app in present:
        app.work_s -= (until - now) * _speed(app.size)
        if app.size and app.work_s < 1e-6:
            app.finished_s, app.size = until, 0
            app.sizes.append(SizeAt(at_s=until, containers=0))
    return until


def _speed(size: int) -> float:
    """Return the speed over that of 8 containers."""
    return size * 1.35 / (1 + 0.05 * (size - 1)) / 8


def _moment(present: list[Running], now: float) -> Moment:
    used = sum(app.size for app in present) / SLOTS
    gpu = min(1.0, sum(app.size for app in present if app.kind == "CNN") / 40)
    fair = 1 / max(1, len(present))
    loss = sum(abs(app.size / SLOTS - fair) for app in present)
    return Moment(
        at_s=now,
        cpu=used,
        memory=0.6 * used,
        gpu=gpu,
        utilization=1.6 * used + gpu,
        loss=loss,
        paper_loss=1.1 * loss,
        running=sum(app.size > 0 for app in present),
        waiting=sum(app.size == 0 for app in present),
        containers=sum(app.size for app in present),
    )


def _result(app: Running) -> AppResult:
    ended, started = app.finished_s or 0.0, app.started_s or 0.0
    return AppResult(
        app_id=app.app_id,
        name=app.app_id,
        kind=app.kind,
        min=1,
        max=32,
        demand={"cpu": 2.0, "memory": 8.0},
        reference_containers=8,
        alone_s=max(1.0, app.alone_s),
        submitted_s=app.submitted_s,
        started_s=app.started_s,
        finished_s=app.finished_s,
        queued_s=started - app.submitted_s,
        run_s=ended - started,
        lost_s=app.restarts * RESTART_S,
        restarts=app.restarts,
        sizes=tuple(app.sizes),
    )


def _summary(
    apps: Sequence[AppResult], moments: Sequence[Moment], decisions: Sequence[DecisionResult]
) -> Summary:
    ends = [app.finished_s or 0.0 for app in apps]
    used = _means(moments)
    return Summary(
        apps=len(apps),
        unfinished=0,
        utilization_5h=used["utilization"] * 1.1,
        utilization=used["utilization"],
        resource_utilization={name: used[name] for name in ("cpu", "memory", "gpu")},
        loss_24h=used["loss"],
        loss=used["loss"],
        loss_max=max((moment.loss for moment in moments), default=0.0),
        paper_loss_24h=used["paper_loss"],
        paper_loss=used["paper_loss"],
        completion_s=distribution([app.completion_s or 0.0 for app in apps]),
        queued_s=distribution([app.queued_s for app in apps]),
        slowdown=distribution([(app.completion_s or 0.0) / app.alone_s for app in apps]),
        speedup=distribution([]),
        makespan_s=max(ends, default=0.0),
        restarts_per_app=sum(app.restarts for app in apps) / max(1, len(apps)),
        restarts_max=max((app.restarts for app in apps), default=0),
        overhead=sum(app.lost_s for app in apps) / max(1.0, sum(app.run_s for app in apps)),
        hasty_touches=0,
        decisions=len(decisions),
        decision_ms=distribution([decision.cpu_ms for decision in decisions]),
        gap_mean=sum(decision.gap for decision in decisions) / max(1, len(decisions)),
        gap_max=max((decision.gap for decision in decisions), default=0.0),
    )


def distribution(values: Sequence[float]) -> Distribution:
    """Return a sample in a few numbers."""
    if not values:
        return Distribution()
    cuts = statistics.quantiles([*values, *values], n=100, method="inclusive")
    return Distribution(
        count=len(values),
        mean=statistics.fmean(values),
        min=min(values),
        p50=cuts[49],
        p90=cuts[89],
        p99=cuts[98],
        max=max(values),
    )


def _against(runs: Sequence[PolicyRun], run: PolicyRun, baseline: str) -> PolicyRun:
    rivals = [one for one in runs if (one.label, one.seed) == (baseline, run.seed)]
    if not rivals:
        return run
    there = {app.app_id: app.completion_s or 0.0 for app in rivals[0].apps}
    gains = [there[app.app_id] / app.completion_s for app in run.apps if app.completion_s]
    ratio = rivals[0].summary.completion_s.mean / max(1.0, run.summary.completion_s.mean)
    summary = attrs.evolve(run.summary, speedup=distribution(gains), speedup_of_mean=ratio)
    return attrs.evolve(run, summary=summary)


def _means(moments: Sequence[Moment]) -> Mapping[str, float]:
    names = ("cpu", "memory", "gpu", "utilization", "loss", "paper_loss")
    return {
        name: sum(getattr(moment, name) for moment in moments) / max(1, len(moments))
        for name in names
    }
