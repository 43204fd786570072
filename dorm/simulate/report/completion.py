"""Plots about the applications' times: completion, slow-down, and the speed-up of each one."""

from collections.abc import Callable, Sequence

import attrs
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dorm.simulate.report.canvas import (
    Plot,
    line_width,
    note,
    plain_numbers,
    policy_legend,
    say,
    sheet,
    unit_for,
)
from dorm.simulate.report.groups import Group
from dorm.simulate.report.theme import Theme
from dorm.simulate.results import AppResult


@attrs.frozen(kw_only=True)
class Helped:
    """One application under a policy and under the baseline, in seconds from submit to end."""

    app: AppResult
    here_s: float
    baseline_s: float

    @property
    def speedup(self) -> float:
        """Return how many times sooner it ended than under the baseline."""
        return self.baseline_s / self.here_s


def helped_by(group: Group) -> list[Helped]:
    """Return what a policy did to each application, from the one it helped least to the most."""
    found = [Helped(app=app, here_s=here, baseline_s=there) for app, here, there in group.pairs()]
    return sorted(found, key=lambda one: (one.speedup, one.app.app_id))


def completion(groups: Sequence[Group]) -> Plot | None:
    """Return the distribution of completion times."""
    samples = [_sample(group, _completion) for group in groups]
    longest = max((sample[-1] for sample in samples if sample), default=0.0)
    unit = unit_for(longest / 4)
    return distribution(
        groups,
        [[value / unit.seconds for value in sample] for sample in samples],
        axis=f"completion time ({unit.name})",
        about=(
            "completion",
            "Completion times",
            (
                "Which part of the applications was done so long after its submit, queueing "
                "included: a line further left and up is better. The median stands in brackets."
            ),
        ),
    )


def slowdown(groups: Sequence[Group]) -> Plot | None:
    """Return the distribution of completion time over run time alone."""
    return distribution(
        groups,
        [_sample(group, _slowdown) for group in groups],
        axis="slow-down (times the run time alone)",
        about=(
            "slowdown",
            "Slow-down",
            (
                "Completion time over the run time that the application has alone at its reference "
                "size: further left is better, and below 1 it got more than that size."
            ),
        ),
    )


def distribution(
    groups: Sequence[Group],
    samples: Sequence[Sequence[float]],
    *,
    axis: str,
    about: tuple[str, str, str],
) -> Plot | None:
    """Return the plot of cumulative distributions on a logarithmic axis.

    Args:
        groups: The policies.
        samples: The sorted positive values of each; a policy without any is left out.
        axis: What the values are, with their unit.
        about: Name, title and reading of the plot.
    """
    shown = [(group, sample) for group, sample in zip(groups, samples, strict=True) if sample]
    if not shown:
        return None

    def draw(theme: Theme) -> Figure:
        figure = sheet(theme)
        axes = figure.axes[0]
        for turn, (group, sample) in enumerate(shown):
            parts = [100 * (rank + 1) / len(sample) for rank in range(len(sample))]
            axes.step(
                [sample[0], *sample],
                [0, *parts],
                where="post",
                color=theme.colour(group),
                linestyle=theme.dashes(group),
                linewidth=line_width(turn),
            )
        axes.set_xscale("log")
        plain_numbers(axes.xaxis)
        axes.set_ylim(0, 102)
        say(axes, theme, x=axis, y="applications (%)")
        policy_legend(
            figure,
            theme,
            [group for group, _ in shown],
            [f"{sample[(len(sample) - 1) // 2]:.3g}" for _, sample in shown],
        )
        return figure

    name, title, reading = about
    return Plot(name=name, title=title, reading=reading, draw=draw)


def speedup(groups: Sequence[Group]) -> Plot | None:
    """Return the speed-up of every application against the baseline, sorted."""
    shown = [
        (group, found) for group in groups if not group.is_baseline and (found := helped_by(group))
    ]
    baseline = next((group.label for group in groups if group.is_baseline), "")
    if not shown:
        return None

    def draw(theme: Theme) -> Figure:
        figure = sheet(theme)
        axes = figure.axes[0]
        for turn, (group, found) in enumerate(shown):
            axes.step(
                [100 * rank / len(found) for rank in range(len(found) + 1)],
                [*(one.speedup for one in found), found[-1].speedup],
                where="post",
                color=theme.colour(group),
                linestyle=theme.dashes(group),
                linewidth=line_width(turn),
            )
        _as_ratios(axes, theme, baseline)
        say(axes, theme, x="applications, sorted (%)", y=f"times as fast as {baseline}")
        remarks = [f"{found[0].speedup:.2f} to {found[-1].speedup:.2f}" for _, found in shown]
        policy_legend(figure, theme, [group for group, _ in shown], remarks)
        return figure

    return Plot(
        name="speedup",
        title=f"Speed-up of each application against {baseline}",
        reading="Every application, from the least to the most helped: above 1 it ended sooner "
        f"than under {baseline}, below 1 later. The extremes stand in brackets.",
        draw=draw,
    )


def _as_ratios(axes: Axes, theme: Theme, baseline: str) -> None:
    axes.set_yscale("log")
    plain_numbers(axes.yaxis)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 0.8), max(high, 1.25))
    axes.set_xlim(0, 100)
    axes.axhline(1, color=theme.faint, linewidth=1, linestyle=(0, (5, 3)))
    note(axes, theme, f"as fast as {baseline}", at=(0.995, 1), right=True)


def _sample(group: Group, value_of: Callable[[AppResult], float | None]) -> list[float]:
    return sorted(value for app in group.apps if (value := value_of(app)) and value > 0)


def _completion(app: AppResult) -> float | None:
    return app.completion_s


def _slowdown(app: AppResult) -> float | None:
    took = app.completion_s
    return took / app.alone_s if took is not None and app.alone_s > 0 else None
