"""The runs of a report, by policy: each policy has one colour, and one run for every seed."""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from dorm.simulate.report.steps import Steps
from dorm.simulate.results import AppResult, Moment, PolicyRun, Results

WITHOUT_BOUND: Final = ("static", "two-level", "drf")
"""Policies that maximize nothing, so that the distance to an upper bound says nothing of them."""


@attrs.frozen(kw_only=True)
class Group:
    """The runs of one policy with one set of options.

    Attributes:
        label: Names it everywhere.
        hue: Which colour of the theme it has; -1 for the one of the baseline.
        variant: 0 for the first set of options of its policy, 1 for the second, and so on.
        runs: One for each seed.
        rivals: The runs of the baseline by seed; empty without one.
    """

    label: str
    hue: int
    variant: int
    runs: tuple[PolicyRun, ...]
    rivals: Mapping[int, PolicyRun]

    @property
    def first(self) -> PolicyRun:
        """Return the run of the first seed, which stands for all where averages would blur."""
        return self.runs[0]

    @property
    def is_baseline(self) -> bool:
        """Return whether the others are measured against it."""
        return self.hue < 0

    @property
    def apps(self) -> Iterator[AppResult]:
        """Yield the applications of all seeds."""
        return (app for run in self.runs for app in run.apps)

    def over_time(self, attribute: str) -> Steps:
        """Return a figure of the cluster over time, such as `utilization`, for the first seed."""
        moments = self.first.moments
        return Steps.of(
            ((moment.at_s, _value(moment, attribute)) for moment in moments), end=end_of(self.first)
        )

    def pairs(self) -> Iterator[tuple[AppResult, float, float]]:
        """Yield applications that ended here and under the baseline, with both times to the end."""
        for run in self.runs:
            rival = self.rivals.get(run.seed)
            before = {app.app_id: app.completion_s for app in rival.apps} if rival else {}
            for app in run.apps:
                here, there = app.completion_s, before.get(app.app_id)
                if here and there:
                    yield app, here, there


def groups_of(results: Results) -> tuple[Group, ...]:
    """Return the policies of a report, in the order in which they were asked for."""
    by_label: dict[str, list[PolicyRun]] = {}
    for run in results.runs:
        by_label.setdefault(run.label, []).append(run)
    hues = _hues(by_label, results.baseline)
    rivals = {run.seed: run for run in by_label.get(results.baseline, ())}
    labels_of: dict[str, list[str]] = {}
    groups = []
    for label, runs in by_label.items():
        seen = labels_of.setdefault("" if label == results.baseline else runs[0].policy, [])
        groups.append(
            Group(
                label=label,
                hue=-1 if label == results.baseline else hues[runs[0].policy],
                variant=len(seen),
                runs=tuple(runs),
                rivals=rivals,
            )
        )
        seen.append(label)
    return tuple(groups)


def end_of(run: PolicyRun) -> float:
    """Return when the last thing of a run happened, in seconds."""
    ends = (app.finished_s for app in run.apps if app.finished_s is not None)
    changes = (size.at_s for app in run.apps for size in app.sizes[-1:])
    return max((*ends, *changes, *(moment.at_s for moment in run.moments[-1:])), default=0.0)


def span_of(groups: tuple[Group, ...]) -> float:
    """Return how much time an axis shows that all policies share."""
    return max((end_of(group.first) for group in groups), default=0.0)


def _hues(by_label: Mapping[str, list[PolicyRun]], baseline: str) -> dict[str, int]:
    policies = [runs[0].policy for label, runs in by_label.items() if label != baseline]
    return {policy: hue for hue, policy in enumerate(dict.fromkeys(policies))}


def _value(moment: Moment, attribute: str) -> float:
    value: float = getattr(moment, attribute)
    return value
