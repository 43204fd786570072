"""One run in numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from dorm.simulate.recorder import Recorder
from dorm.simulate.results import AppResult, Distribution, PolicyRun, Summary

HOUR_MS: Final = 3_600_000
FIVE_HOURS_MS: Final = 5 * HOUR_MS  # what the paper's figures of utilization are about
DAY_MS: Final = 24 * HOUR_MS


def distribution(values: Iterable[float]) -> Distribution:
    """Return mean and nearest-rank percentiles of a sample."""
    rows = sorted(values)
    if not rows:
        return Distribution()
    return Distribution(
        count=len(rows),
        mean=math.fsum(rows) / len(rows),
        min=rows[0],
        p50=_at(rows, 50),
        p90=_at(rows, 90),
        p99=_at(rows, 99),
        max=rows[-1],
    )


def summarize(
    recorder: Recorder, apps: Sequence[AppResult], *, failures: int = 0, cpu_s: float, wall_s: float
) -> Summary:
    """Return the numbers of one run, without those that compare it with another one."""
    ended = [app for app in apps if app.completion_s is not None]
    completions = [app.completion_s or 0.0 for app in ended]
    run_s = math.fsum(app.run_s for app in apps)
    decisions = recorder.decisions
    first_s = min((app.submitted_s for app in apps), default=0.0)
    gaps = [decision.gap for decision in decisions]
    return Summary(
        apps=len(apps),
        unfinished=len(apps) - len(ended),
        utilization_5h=recorder.average("utilization", FIVE_HOURS_MS),
        utilization=recorder.average("utilization"),
        resource_utilization={name: recorder.average(name) for name in ("cpu", "memory", "gpu")},
        loss_24h=recorder.average("loss", DAY_MS),
        loss=recorder.average("loss"),
        loss_max=recorder.peak("loss"),
        paper_loss_24h=recorder.average("paper_loss", DAY_MS),
        paper_loss=recorder.average("paper_loss"),
        completion_s=distribution(completions),
        queued_s=distribution(app.queued_s for app in ended),
        slowdown=distribution(
            time_s / app.alone_s for app, time_s in zip(ended, completions, strict=True)
        ),
        speedup=Distribution(),
        makespan_s=max((app.finished_s or 0.0 for app in ended), default=first_s) - first_s,
        restarts_per_app=math.fsum(app.restarts for app in apps) / max(1, len(apps)),
        restarts_max=max((app.restarts for app in apps), default=0),
        overhead=math.fsum(app.lost_s for app in apps) / run_s if run_s else 0.0,
        hasty_touches=sum(app.hasty_touches for app in apps),
        decisions=len(decisions),
        decision_ms=distribution(decision.cpu_ms for decision in decisions),
        gap_mean=math.fsum(gaps) / max(1, len(gaps)),
        gap_max=max(gaps, default=0.0),
        fallbacks=sum(bool(decision.fallback) for decision in decisions),
        node_failures=failures,
        wall_s=wall_s,
        cpu_s=cpu_s,
    )


def compared(runs: Sequence[PolicyRun], baseline: str) -> tuple[PolicyRun, ...]:
    """Return the runs with their speed-ups against the baseline's run of the same seed."""
    base = {run.seed: run for run in runs if run.label == baseline}
    return tuple(_against(run, base[run.seed]) if run.seed in base else run for run in runs)


def _against(run: PolicyRun, base: PolicyRun) -> PolicyRun:
    before = _completions(base)
    pairs = [(before[key], now) for key, now in _completions(run).items() if key in before]
    mean, base_mean = math.fsum(now for _, now in pairs), math.fsum(then for then, _ in pairs)
    summary = attrs.evolve(
        run.summary,
        speedup=distribution(then / now for then, now in pairs if now > 0),
        speedup_of_mean=base_mean / mean if mean else 0.0,
    )
    return attrs.evolve(run, summary=summary)


def _completions(run: PolicyRun) -> Mapping[str, float]:
    return {app.app_id: app.completion_s for app in run.apps if app.completion_s is not None}


def _at(rows: Sequence[float], percent: int) -> float:
    return rows[max(0, -(-len(rows) * percent // 100) - 1)]
