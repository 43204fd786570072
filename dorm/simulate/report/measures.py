"""The figures of a comparison: where each comes from, how it is written, which end is good."""

from collections.abc import Callable
from enum import Enum
from typing import Final

import attrs

from dorm.simulate.report.disturbance import overhead_of
from dorm.simulate.report.groups import WITHOUT_BOUND, Group
from dorm.simulate.results import Results, Summary


class Better(Enum):
    """Which end of a figure is the good one."""

    HIGHER = "higher is better"
    LOWER = "lower is better"
    NEITHER = ""


class Form(Enum):
    """How a figure is written."""

    NUMBER = "{:.3f}"
    PERCENT = "{:.2f} %"
    RATIO = "{:.2f}x"
    COUNT = "{:.0f}"
    AMOUNT = "{:.2f}"
    TIME = ""
    MILLISECONDS = "{:.1f} ms"


@attrs.frozen(kw_only=True)
class Measure:
    """One figure of a comparison.

    Attributes:
        of: Takes it from a run, or says None where it makes no sense.
        section: Under which heading of the report it belongs.
        is_headline: Whether it is in the short table.
    """

    name: str
    of: Callable[[Group, Summary], float | None]
    better: Better
    form: Form
    section: str
    is_headline: bool = True


def measures(results: Results) -> tuple[Measure, ...]:
    """Return the figures of a comparison, in the order of the table."""
    return (*_utilization(results), *_FAIRNESS, *_COMPLETION, *_DISTURBANCE, *_DECISIONS)


def _utilization(results: Results) -> tuple[Measure, ...]:
    def of_resource(name: str) -> Measure:
        return Measure(
            name=f"{name} in use",
            of=lambda _, summary: 100 * summary.resource_utilization.get(name, 0.0),
            better=Better.HIGHER,
            form=Form.PERCENT,
            section="utilization",
            is_headline=False,
        )

    named = [name for name in ("cpu", "memory", "gpu") if results.capacity.get(name, 0) > 0]
    return (
        Measure(
            name="utilization, first 5 h",
            of=lambda _, summary: summary.utilization_5h,
            better=Better.HIGHER,
            form=Form.NUMBER,
            section="utilization",
        ),
        Measure(
            name="utilization",
            of=lambda _, summary: summary.utilization,
            better=Better.HIGHER,
            form=Form.NUMBER,
            section="utilization",
        ),
        *(of_resource(name) for name in named),
    )


def _speedup(part: str) -> Callable[[Group, Summary], float | None]:
    def of(group: Group, summary: Summary) -> float | None:
        speedup = summary.speedup
        value: float = getattr(speedup, part)
        return value if speedup.count and not group.is_baseline else None

    return of


def _gap(part: str) -> Callable[[Group, Summary], float | None]:
    def of(group: Group, summary: Summary) -> float | None:
        value: float = getattr(summary, part)
        return None if group.first.policy in WITHOUT_BOUND else 100 * value

    return of


def _measure(
    name: str,
    of: Callable[[Group, Summary], float | None],
    section: str,
    form: Form,
    better: Better = Better.LOWER,
    *,
    is_headline: bool = True,
) -> Measure:
    return Measure(
        name=name, of=of, better=better, form=form, section=section, is_headline=is_headline
    )


_FAIRNESS: Final = (
    _measure("fairness loss, first day", lambda _, s: s.loss_24h, "fairness", Form.NUMBER),
    _measure("fairness loss", lambda _, s: s.loss, "fairness", Form.NUMBER, is_headline=False),
    _measure(
        "largest fairness loss", lambda _, s: s.loss_max, "fairness", Form.NUMBER, is_headline=False
    ),
    _measure(
        "loss by the paper's shares, first day",
        lambda _, s: s.paper_loss_24h,
        "fairness",
        Form.NUMBER,
        is_headline=False,
    ),
)
_COMPLETION: Final = (
    _measure("completion time, mean", lambda _, s: s.completion_s.mean, "completion", Form.TIME),
    _measure(
        "completion time, median",
        lambda _, s: s.completion_s.p50,
        "completion",
        Form.TIME,
        is_headline=False,
    ),
    _measure("completion time, p90", lambda _, s: s.completion_s.p90, "completion", Form.TIME),
    _measure(
        "completion time, p99",
        lambda _, s: s.completion_s.p99,
        "completion",
        Form.TIME,
        is_headline=False,
    ),
    _measure("queued, mean", lambda _, s: s.queued_s.mean, "completion", Form.TIME),
    _measure("slow-down, mean", lambda _, s: s.slowdown.mean, "completion", Form.RATIO),
    _measure(
        "mean completion against the baseline",
        lambda group, s: None if group.is_baseline else s.speedup_of_mean or None,
        "completion",
        Form.RATIO,
        Better.HIGHER,
    ),
    _measure("best speed-up", _speedup("max"), "completion", Form.RATIO, Better.HIGHER),
    _measure("worst speed-up", _speedup("min"), "completion", Form.RATIO, Better.HIGHER),
    _measure("makespan", lambda _, s: s.makespan_s, "completion", Form.TIME, is_headline=False),
    _measure("unfinished", lambda _, s: s.unfinished, "completion", Form.COUNT),
)
_DISTURBANCE: Final = (
    _measure(
        "restarts per application",
        lambda _, s: s.restarts_per_app,
        "disturbance",
        Form.AMOUNT,
        Better.NEITHER,
    ),
    _measure(
        "most restarts of one",
        lambda _, s: s.restarts_max,
        "disturbance",
        Form.AMOUNT,
        Better.NEITHER,
        is_headline=False,
    ),
    _measure(
        "overhead",
        lambda group, _: 100 * overhead_of(group),
        "disturbance",
        Form.PERCENT,
        Better.NEITHER,
    ),
    _measure(
        "touched too soon",
        lambda _, s: s.hasty_touches,
        "disturbance",
        Form.AMOUNT,
        Better.NEITHER,
        is_headline=False,
    ),
)
_DECISIONS: Final = (
    _measure(
        "decisions",
        lambda _, s: s.decisions,
        "decisions",
        Form.COUNT,
        Better.NEITHER,
        is_headline=False,
    ),
    _measure(
        "decision, mean processor time",
        lambda _, s: s.decision_ms.mean,
        "decisions",
        Form.MILLISECONDS,
        Better.NEITHER,
    ),
    _measure(
        "decision, p99",
        lambda _, s: s.decision_ms.p99,
        "decisions",
        Form.MILLISECONDS,
        Better.NEITHER,
        is_headline=False,
    ),
    _measure("gap to the bound, mean", _gap("gap_mean"), "decisions", Form.PERCENT, Better.NEITHER),
    _measure(
        "gap to the bound, largest",
        _gap("gap_max"),
        "decisions",
        Form.PERCENT,
        Better.NEITHER,
        is_headline=False,
    ),
)
