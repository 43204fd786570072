"""Plots of the cluster over time: utilization, by resource, fairness loss, waiting applications."""

from collections.abc import Sequence
from typing import Final

import attrs
from matplotlib.figure import Figure

from dorm.simulate.report.canvas import (
    Plot,
    line_width,
    note,
    policy_legend,
    say,
    sheet,
    unit_for,
)
from dorm.simulate.report.groups import Group, span_of
from dorm.simulate.report.steps import Steps
from dorm.simulate.report.theme import Theme
from dorm.simulate.results import Results

RESOURCES: Final = ("cpu", "memory", "gpu")


@attrs.frozen(kw_only=True)
class _Panel:
    """One pair of axes: what it shows, and a series for each policy.

    Attributes:
        factor: From values to what the axis counts in.
        bounds: Limits to mark, with a word for each.
        y_max: Upper end of the axis, if it is known.
    """

    axis: str
    series: Sequence[Steps]
    factor: float = 1.0
    bounds: Sequence[tuple[float, str]] = ()
    y_max: float | None = None


def utilization(results: Results, groups: Sequence[Group]) -> Plot | None:
    """Return the plot of the paper's utilization: the sum over all resources."""
    resources = [name for name in RESOURCES if results.capacity.get(name, 0) > 0]
    panel = _Panel(
        axis=f"utilization (of {len(resources)})",
        series=_series(groups, "utilization"),
        bounds=[(float(len(resources)), "everything in use")],
    )
    return _plot(
        groups,
        [panel],
        name="utilization",
        title="Utilization over time",
        reading="Parts of the cluster in use, added up over "
        f"{' and '.join(resources)}: higher is better, and {len(resources)} means that nothing is "
        "left. The average over each whole run stands in brackets.",
    )


def by_resource(results: Results, groups: Sequence[Group]) -> Plot | None:
    """Return the plot of each resource's utilization."""
    panels = [
        _Panel(axis=f"{name} (%)", series=_series(groups, name), factor=100, y_max=105)
        for name in RESOURCES
        if results.capacity.get(name, 0) > 0
    ]
    return _plot(
        groups,
        panels,
        name="utilization-by-resource",
        title="Utilization of each resource",
        reading="The same, resource by resource: whichever is near 100 % limits what can still "
        "be placed.",
        has_means=False,
    )


def fairness(groups: Sequence[Group]) -> Plot | None:
    """Return the plot of the fairness loss, with the bounds that decisions had to keep."""
    by_bound: dict[float, list[str]] = {}
    for group in groups:
        bound = max((decision.loss_bound for decision in group.first.decisions), default=0.0)
        if bound > 0:
            by_bound.setdefault(round(bound, 6), []).append(group.label)
    bounds = [(bound, _bound_name(labels, by_bound)) for bound, labels in by_bound.items()]
    panel = _Panel(
        axis="fairness loss (shares)", series=_series(groups, "loss"), bounds=sorted(bounds)
    )
    return _plot(
        groups,
        [panel],
        name="fairness",
        title="Fairness loss over time",
        reading="How far all applications together are from their fair dominant shares: lower is "
        "fairer, 0 is perfectly fair, and a dashed line is the most that a decision may allow.",
    )


def waiting(groups: Sequence[Group]) -> Plot | None:
    """Return the plot of the queue."""
    return _plot(
        groups,
        [_Panel(axis="waiting applications", series=_series(groups, "waiting"))],
        name="queue",
        title="Queue over time",
        reading="Applications that are submitted and have no containers: lower is better, and a "
        "line that keeps rising is a cluster that cannot follow.",
    )


def _series(groups: Sequence[Group], attribute: str) -> list[Steps]:
    return [group.over_time(attribute) for group in groups]


def _bound_name(labels: list[str], by_bound: dict[float, list[str]]) -> str:
    return "bound" if len(by_bound) == 1 else f"bound of {', '.join(labels)}"


def _plot(
    groups: Sequence[Group],
    panels: Sequence[_Panel],
    *,
    name: str,
    title: str,
    reading: str,
    has_means: bool = True,
) -> Plot | None:
    if all(steps.is_empty for panel in panels for steps in panel.series):
        return None
    remarks = [f"{steps.mean:.3g}" if has_means else "" for steps in panels[0].series]

    def draw(theme: Theme) -> Figure:
        height = 3.6 if len(panels) == 1 else 1.0 + 1.5 * len(panels)
        figure = sheet(theme, rows=len(panels), height=height)
        for axes, panel in zip(figure.axes, panels, strict=True):
            _draw(figure, axes_index=figure.axes.index(axes), panel=panel, look=(theme, groups))
        say(
            figure.axes[-1],
            theme,
            x=f"time since the start ({unit_for(span_of(tuple(groups))).name})",
            y=panels[-1].axis,
        )
        policy_legend(figure, theme, groups, remarks)
        return figure

    return Plot(name=name, title=title, reading=reading, draw=draw)


def _draw(
    figure: Figure, *, axes_index: int, panel: _Panel, look: tuple[Theme, Sequence[Group]]
) -> None:
    axes, (theme, groups) = figure.axes[axes_index], look
    span = span_of(tuple(groups))
    seconds = unit_for(span).seconds
    for turn, (group, steps) in enumerate(zip(groups, panel.series, strict=True)):
        shown = steps.thinned()
        if not shown.is_empty:
            axes.stairs(
                shown.values * panel.factor,
                shown.edges / seconds,
                baseline=None,
                color=theme.colour(group),
                linestyle=theme.dashes(group),
                linewidth=line_width(turn) * 0.85,
            )
    for value, word in panel.bounds:
        axes.axhline(value, color=theme.faint, linewidth=1, linestyle=(0, (5, 3)))
        note(axes, theme, word, at=(0.995, value), right=True)
    axes.set_xlim(0, span / seconds)
    top = panel.y_max or axes.get_ylim()[1]
    axes.set_ylim(0, max(top, *(1.1 * value for value, _ in panel.bounds), 1e-9))
    say(axes, theme, y=panel.axis)
