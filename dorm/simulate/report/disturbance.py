"""Plots of what resizing costs: restarts of each application, and the time that they take."""

from collections.abc import Sequence
from typing import Final

from matplotlib.figure import Figure

from dorm.simulate.report.canvas import Plot, plain, policy_legend, say, sheet
from dorm.simulate.report.groups import Group
from dorm.simulate.report.theme import Theme

RESTARTS_SHOWN_MAX: Final = 8


def restarts(groups: Sequence[Group]) -> Plot | None:
    """Return how many applications were restarted how often."""
    counts = [_counts(group) for group in groups]
    if not any(map(any, counts)):
        return None

    def draw(theme: Theme) -> Figure:
        figure = sheet(theme)
        axes, width = figure.axes[0], 0.8 / len(groups)
        for turn, (group, count) in enumerate(zip(groups, counts, strict=True)):
            shift = (turn - (len(groups) - 1) / 2) * width
            axes.bar(
                [place + shift for place in range(len(count))],
                [100 * number / max(1, sum(count)) for number in count],
                width=width * 0.92,
                color=theme.colour(group),
            )
        names = [str(number) for number in range(RESTARTS_SHOWN_MAX)]
        axes.set_xticks(range(len(names) + 1), [*names, f"{RESTARTS_SHOWN_MAX} or more"])
        axes.grid(visible=False, axis="x")
        say(axes, theme, x="restarts of an application", y="applications (%)")
        policy_legend(figure, theme, groups, [_mean(group) for group in groups])
        return figure

    return Plot(
        name="restarts",
        title="Restarts per application",
        reading="Which part of the applications was stopped and started again how often: bars "
        "further left are gentler. The average stands in brackets.",
        draw=draw,
    )


def overhead(groups: Sequence[Group]) -> Plot | None:
    """Return which part of the time with containers went into restarts."""
    if not any(app.run_s > 0 for group in groups for app in group.apps):
        return None

    def draw(theme: Theme) -> Figure:
        figure = sheet(theme, height=0.9 + 0.36 * len(groups))
        axes = figure.axes[0]
        parts = [100 * overhead_of(group) for group in groups]
        worst = [100 * _worst_tenth(group) for group in groups]
        colours = [theme.colour(group) for group in groups]
        axes.barh(range(len(groups)), parts, height=0.6, color=colours)
        axes.scatter(worst, range(len(groups)), marker="|", s=140, color=theme.ink, linewidths=1.6)
        names = [f"{group.label} ({part:.2f} %)" for group, part in zip(groups, parts, strict=True)]
        axes.set_yticks(range(len(groups)), [plain(name) for name in names])
        for text in axes.get_yticklabels():
            text.set_parse_math(False)
        axes.set_xlim(0, max(*parts, *worst, 1.0) * 1.15)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        say(axes, theme, x="time with containers that went into restarts (%)")
        return figure

    return Plot(
        name="overhead",
        title="Overhead of sharing",
        reading="Time that applications had containers but were stopping or starting: shorter is "
        "better. A tick marks the application that nine tenths stay below.",
        draw=draw,
    )


def overhead_of(group: Group) -> float:
    """Return the time lost in restarts over the time with containers, of all applications."""
    return sum(app.lost_s for app in group.apps) / max(1e-9, sum(app.run_s for app in group.apps))


def _worst_tenth(group: Group) -> float:
    parts = sorted(app.lost_s / app.run_s for app in group.apps if app.run_s > 0)
    return parts[9 * (len(parts) - 1) // 10] if parts else 0.0


def _counts(group: Group) -> list[int]:
    counts = [0] * (RESTARTS_SHOWN_MAX + 1)
    for app in group.apps:
        counts[min(app.restarts, RESTARTS_SHOWN_MAX)] += 1
    return counts


def _mean(group: Group) -> str:
    restarts_of = [app.restarts for app in group.apps]
    return f"{sum(restarts_of) / max(1, len(restarts_of)):.2g}"
