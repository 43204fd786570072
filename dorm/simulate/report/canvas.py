"""What all plots share: paper, axes, legend, and the way to PNG.

Figures are made without pyplot, which would keep every figure in a global list and may only be used
by one thread.
"""

import io
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import attrs
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullLocator

from dorm.simulate.report.groups import Group
from dorm.simulate.report.theme import Theme
from events.text import one_line

WIDTH_IN: Final = 7.0
HEIGHT_IN: Final = 3.6
DPI: Final = 160
FONT_PT: Final = 10.0
LEGEND_COLUMNS: Final = 3
LABEL_CHARACTERS_MAX: Final = 48
_LOG_STEPS: Final = (  # labels within a decade, if an axis spans at most that ratio
    (15.0, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)),
    (1e3, (1.0, 2.0, 5.0)),
    (float("inf"), (1.0,)),
)


@attrs.frozen(kw_only=True)
class Plot:
    """A picture of the report.

    Attributes:
        name: Of its file, without the extension.
        title: What it shows.
        reading: A sentence that says how to read it.
        draw: Makes it on the paper of a theme.
    """

    name: str
    title: str
    reading: str
    draw: Callable[[Theme], Figure]


@attrs.frozen(kw_only=True)
class TimeUnit:
    """A unit that makes the numbers on an axis small."""

    name: str
    seconds: float


SECONDS: Final = TimeUnit(name="s", seconds=1)
MINUTES: Final = TimeUnit(name="min", seconds=60)
HOURS: Final = TimeUnit(name="h", seconds=3_600)
DAYS: Final = TimeUnit(name="days", seconds=86_400)


def unit_for(span_s: float) -> TimeUnit:
    """Return the unit in which a span of time is best told."""
    if span_s >= 4 * DAYS.seconds:
        return DAYS
    if span_s >= 2 * HOURS.seconds:
        return HOURS
    return MINUTES if span_s >= 2 * MINUTES.seconds else SECONDS


def sheet(theme: Theme, *, rows: int = 1, columns: int = 1, height: float = HEIGHT_IN) -> Figure:
    """Return an empty figure with its axes; those of a column share their x axis."""
    figure = Figure(
        figsize=(WIDTH_IN, height), dpi=DPI, layout="constrained", facecolor=theme.paper
    )
    figure.subplots(rows, columns, sharex="col")
    for axes in figure.axes:
        _plain_axes(axes, theme)
    return figure


def say(axes: Axes, theme: Theme, *, x: str = "", y: str = "") -> None:
    """Write what the axes show, and in which unit."""
    axes.set_xlabel(x, color=theme.faint, fontsize=FONT_PT)
    axes.set_ylabel(y, color=theme.faint, fontsize=FONT_PT)


def note(axes: Axes, theme: Theme, text: str, *, at: tuple[float, float], right: bool) -> None:
    """Write a word beside something, at x as a part of the axes and y as a value."""
    axes.text(
        *at,
        plain(text),
        transform=axes.get_yaxis_transform(),
        ha="right" if right else "left",
        va="bottom",
        color=theme.faint,
        fontsize=FONT_PT - 2,
        parse_math=False,
    )


def legend(figure: Figure, theme: Theme, handles: Sequence[Artist], labels: Sequence[str]) -> None:
    """Put a legend above the axes."""
    box = figure.legend(
        handles,
        [plain(label) for label in labels],
        loc="outside upper left",
        ncols=min(LEGEND_COLUMNS, max(1, len(labels))),
        frameon=False,
        fontsize=FONT_PT - 1,
        labelcolor=theme.ink,
        handlelength=1.8,
        columnspacing=1.4,
        borderaxespad=0.2,
    )
    for text in box.get_texts():
        text.set_parse_math(False)


def policy_legend(
    figure: Figure, theme: Theme, groups: Sequence[Group], remarks: Sequence[str] = ()
) -> None:
    """Put a legend of policies above the axes, with a remark behind each name."""
    lines = [
        Line2D([], [], color=theme.colour(group), linestyle=theme.dashes(group), linewidth=2.2)
        for group in groups
    ]
    names = [
        f"{group.label} ({remark})" if remark else group.label
        for group, remark in zip(groups, remarks or [""] * len(groups), strict=True)
    ]
    legend(figure, theme, lines, names)


def to_png(figure: Figure) -> bytes:
    """Return the figure as PNG, without a date or a program's name: equal plots, equal bytes."""
    out = io.BytesIO()
    FigureCanvasAgg(figure).print_png(out, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return out.getvalue()


def plain_numbers(axis: Axis) -> None:
    """Label a logarithmic axis with `0.5 1 2 5 10` instead of powers, as close as there is room."""
    low, high = sorted(axis.get_view_interval())
    steps = next(steps for ratio, steps in _LOG_STEPS if high <= ratio * max(low, 1e-300))
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter("{x:g}")


def line_width(turn: int) -> float:
    """Return the width of the n-th line: later ones are thinner, so that equal lines all show."""
    return max(1.1, 2.2 - 0.25 * turn)


def plain(text: str) -> str:
    """Return a name from a trace as a plot can show it: short, and with the letters of its font.

    A leading underscore would hide it from the legend.
    """
    drawn = "".join(letter if ord(letter) in _letters() else "?" for letter in one_line(text))
    if len(drawn) > LABEL_CHARACTERS_MAX:
        drawn = f"{drawn[: LABEL_CHARACTERS_MAX - 1]}…"
    return f" {drawn}" if drawn.startswith("_") else drawn


@cache
def _letters() -> frozenset[int]:
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    return frozenset(font.get_charmap())


def _plain_axes(axes: Axes, theme: Theme) -> None:
    axes.set_facecolor(theme.paper)
    axes.tick_params(colors=theme.faint, labelsize=FONT_PT - 1, length=3, color=theme.grid)
    axes.grid(visible=True, color=theme.grid, linewidth=0.7)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.grid)
