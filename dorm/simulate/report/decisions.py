"""Plots of the decisions themselves: what they cost, and how far from their bound they are."""

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorm.simulate.report.canvas import Plot, line_width, plain_numbers, policy_legend, say, sheet
from dorm.simulate.report.groups import WITHOUT_BOUND, Group
from dorm.simulate.report.theme import Theme


def decisions(groups: Sequence[Group]) -> Plot | None:
    """Return the distributions of processor time and gap."""
    times = [_sorted(d.cpu_ms for run in group.runs for d in run.decisions) for group in groups]
    gaps = [
        []
        if group.first.policy in WITHOUT_BOUND
        else _sorted(100 * decision.gap for run in group.runs for decision in run.decisions)
        for group in groups
    ]
    if not any(times):
        return None

    def draw(theme: Theme) -> Figure:
        figure = sheet(theme, columns=2, height=3.4)
        left, right = figure.axes
        _draw(left, theme, groups, [[max(value, 1e-3) for value in row] for row in times])
        left.set_xscale("log")
        plain_numbers(left.xaxis)
        _draw(right, theme, groups, gaps)
        right.set_xlim(left=0, right=max((max(row) for row in gaps if row), default=0) * 1.05 + 0.1)
        say(left, theme, x="processor time (ms)", y="decisions (%)")
        say(right, theme, x="gap to the upper bound (%)")
        policy_legend(figure, theme, groups)
        return figure

    return Plot(
        name="decisions",
        title="Cost and quality of decisions",
        reading="Which part of the decisions took at most so much processor time (left), and came "
        "at least so close to what no layout can exceed (right): further left is better in both.",
        draw=draw,
    )


def _draw(
    axes: Axes, theme: Theme, groups: Sequence[Group], samples: Sequence[Sequence[float]]
) -> None:
    for turn, (group, sample) in enumerate(zip(groups, samples, strict=True)):
        if sample:
            axes.step(
                [sample[0], *sample],
                [100 * rank / len(sample) for rank in range(len(sample) + 1)],
                where="post",
                color=theme.colour(group),
                linestyle=theme.dashes(group),
                linewidth=line_width(turn),
            )
    axes.set_ylim(0, 102)


def _sorted(values: Iterable[float]) -> list[float]:
    return sorted(values)
