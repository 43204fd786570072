"""Plots of the size of every application over time: stacked if few, else a heat map."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dorm.simulate.report.canvas import Plot, legend, say, sheet, unit_for
from dorm.simulate.report.groups import Group
from dorm.simulate.report.steps import Floats, piece_averages
from dorm.simulate.report.theme import Theme, mixed
from dorm.simulate.results import AppResult

STACKED_APPS_MAX: Final = 60
ROWS_MAX: Final = 400
_PIECES: Final = 500
_TINTS: Final = (0.0, 0.22, 0.42)


def sizes(group: Group, *, number: int, span_s: float) -> Plot | None:
    """Return the plot of one policy's applications.

    Args:
        group: The policy; its first seed is drawn.
        number: Of the policy in the report, for the name of the file.
        span_s: How much time to show, the same for all policies so that they can be compared.
    """
    apps = group.first.apps
    if span_s <= 0 or not any(app.sizes for app in apps):
        return None
    is_stacked = len(apps) <= STACKED_APPS_MAX
    rows = len(apps) if is_stacked else min(len(apps), ROWS_MAX)
    heights = _heights(apps, rows=rows, span_s=span_s)

    def draw(theme: Theme) -> Figure:
        if is_stacked:
            return _stacked(theme, apps, heights, span_s)
        return _heat_map(theme, len(apps), heights, span_s)

    stacked = "Each band is one application, coloured by kind, and as high as it has containers"
    mapped = (
        "Each row is an application, the first submitted at the top, and its colour says how large"
    )
    merged = f" (about {len(apps) / rows:.0f} neighbours share a row, which shows their average)"
    reading = stacked if is_stacked else mapped + (merged if len(apps) > rows else "")
    return Plot(
        name=f"sizes-{number}",
        title=f"Sizes of all applications: {group.label}",
        reading=f"{reading}: a jump in the middle is a resize.",
        draw=draw,
    )


def _heights(apps: Sequence[AppResult], *, rows: int, span_s: float) -> Floats:
    """Return average containers by row and piece of time; a row is one application or several."""
    row_of = [index * rows // len(apps) for index in range(len(apps))]
    members = np.bincount(row_of, minlength=rows)
    changes = [
        (row_of[index], size.at_s, size.containers - before)
        for index, app in enumerate(apps)
        for size, before in zip(
            app.sizes, (0, *(size.containers for size in app.sizes)), strict=False
        )
    ]
    row, at, change = zip(*changes, strict=True)
    totals = piece_averages(
        rows=np.array(row, dtype=np.int64),
        at=np.array(at, dtype=np.float64),
        change=np.array(change, dtype=np.float64),
        shape=(rows, _PIECES),
        span=span_s,
    )
    return totals / members[:, None]


def _stacked(theme: Theme, apps: Sequence[AppResult], heights: Floats, span_s: float) -> Figure:
    figure = sheet(theme)
    axes, unit = figure.axes[0], unit_for(span_s)
    kinds = list(dict.fromkeys(app.kind or "applications" for app in apps))
    order = sorted(range(len(apps)), key=lambda index: kinds.index(apps[index].kind or kinds[0]))
    edges = np.linspace(0, span_s / unit.seconds, _PIECES + 1)
    axes.stackplot(
        edges,
        np.column_stack((heights, heights[:, -1]))[order],
        step="post",
        colors=[
            mixed(_kind_colour(theme, kinds, apps[index]), theme.paper, _TINTS[turn % len(_TINTS)])
            for turn, index in enumerate(order)
        ],
        edgecolor=theme.paper,
        linewidth=0.25,
    )
    axes.set_xlim(0, span_s / unit.seconds)
    axes.set_ylim(bottom=0)
    say(axes, theme, x=f"time since the start ({unit.name})", y="containers")
    hues = {app.kind or kinds[0]: _kind_colour(theme, kinds, app) for app in apps}
    legend(figure, theme, [Patch(color=hues[kind]) for kind in kinds], kinds)
    return figure


def _kind_colour(theme: Theme, kinds: Sequence[str], app: AppResult) -> str:
    return theme.hues[kinds.index(app.kind or kinds[0]) % len(theme.hues)]


def _heat_map(theme: Theme, apps: int, heights: Floats, span_s: float) -> Figure:
    figure = sheet(theme, height=4.6)
    axes, unit = figure.axes[0], unit_for(span_s)
    axes.grid(visible=False)
    image = axes.imshow(
        np.ma.masked_less(heights, 1e-9),
        aspect="auto",
        interpolation="nearest",
        cmap=theme.heat,
        extent=(0, span_s / unit.seconds, apps, 0),
        norm=LogNorm(vmin=max(1e-9, float(heights.max()) / 100), vmax=float(heights.max()) or 1.0),
    )
    bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=30)
    bar.ax.tick_params(which="both", colors=theme.faint, labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label("containers", color=theme.faint)
    say(axes, theme, x=f"time since the start ({unit.name})", y="applications by submit")
    return figure
