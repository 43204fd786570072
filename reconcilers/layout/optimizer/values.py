"""What a size is worth to the cluster, and how unfair it is: the value points of a model.

`utilization`, the paper's objective: `G_i(n) = u_i * n`, the resources that it occupies.

`goodput`: `G_i(n) = u_i * v_i(n) - price * max(0, s^_i - delta_i * n)`. `v_i(n)` is how many
containers' work `n` containers do: the speed curve, scaled so that its first point counts fully;
without a curve `v_i(n) = n`. The second term pulls everyone up to its fair share long before the
paper's bound on the total loss would.

Loss of fairness is the paper's `|delta_i * n - s^_i|` for `utilization`, and twice what is lacked,
`2 * max(0, s^_i - delta_i * n)`, for `goodput`. Where the cluster is full the two sums are alike,
for what some have above their share the others lack. Where it is not, the paper's calls it a loss
to use what nobody else can, and a layout gets better by leaving room idle. Whoever is not entitled
loses nothing by waiting; the paper's loss counts what it has above its minimum, once placed.

Gains are made concave (the upper hull of the curve), and both are linear between a few points (a
loss between the integers around `s^_i` is its chord), so that linear programs over them are exact.
"""

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.optimizer.model import Bools, Floats, Ints
from reconcilers.layout.snapshot import AppRequest, SpeedPoint

KNOTS_MAX: Final = 6  # sizes between which a speed curve is straightened
ROUNDING: Final = 1e-9
FAR: Final = 2.0**20  # containers: beyond all sizes

Curve = tuple[tuple[float, float], ...]


@attrs.frozen(kw_only=True, eq=False)
class Sizes:
    """What the value of a size depends on.

    Attributes:
        low, high, old: (A,) bounds, and the present size.
        use, share, fair: (A,) u_i, delta_i, s^_i.
        entitled: (A,).
        curves: Concave speed curve of each application, or None for a linear one.
        shortfall_price: 0 for the paper's objective.
        counts_surplus: Whether it is a loss to have more than one's share, whoever lacks it.
    """

    low: Ints
    high: Ints
    old: Ints
    use: Floats
    share: Floats
    fair: Floats
    entitled: Bools
    curves: Sequence[Curve | None]
    shortfall_price: float
    counts_surplus: bool


@attrs.frozen(kw_only=True, eq=False)
class Values:
    """Gain and loss at the points, at zero and at the present size; shapes as in `Model`."""

    points: Ints
    gain: Floats
    loss: Floats
    gain_zero: Floats
    loss_zero: Floats
    gain_old: Floats
    loss_old: Floats


def values(sizes: Sizes) -> Values:
    """Return the value points of every application."""
    points, zero = _points(sizes), np.zeros_like(sizes.low)
    counts = np.concatenate([points, zero[None], sizes.old[None]])
    gain, loss = _gain(sizes, counts), _loss(sizes, counts)
    waiting = _loss(sizes, zero[None])[0]
    return Values(
        points=points,
        gain=gain[:-2],
        loss=loss[:-2],
        gain_zero=gain[-2],
        loss_zero=waiting,
        gain_old=gain[-1],
        loss_old=np.where(sizes.old > 0, loss[-1], waiting),
    )


def _points(sizes: Sizes) -> Ints:
    below = np.floor(sizes.fair / np.maximum(sizes.share, 1e-300) + ROUNDING)
    below = np.minimum(below, 2.0**40).astype(np.int64)
    present = np.where(sizes.old > 0, sizes.old, sizes.low)
    inner = (below, below + 1, present)
    rows = [sizes.low, sizes.high, *(np.clip(row, sizes.low, sizes.high) for row in inner)]
    if any(curve is not None for curve in sizes.curves):
        bent = np.array([curve is not None for curve in sizes.curves])
        knot = sizes.low.copy()
        for _ in range(KNOTS_MAX):
            knot = np.minimum(knot * 2, sizes.high)
            rows.append(np.where(bent, knot, sizes.high))
    return np.sort(np.stack(rows), axis=0)


def _gain(sizes: Sizes, counts: Ints) -> Floats:
    speed = counts.astype(np.float64)
    bent = [index for index, curve in enumerate(sizes.curves) if curve is not None]
    if bent:
        speed[:, bent] = speeds([sizes.curves[index] or () for index in bent], counts[:, bent])
    short = np.maximum(sizes.fair - sizes.share * counts, 0.0)
    return sizes.use * speed - sizes.shortfall_price * short


def _loss(sizes: Sizes, counts: Ints) -> Floats:
    short = sizes.fair - sizes.share * counts
    if not sizes.counts_surplus:
        return np.where(sizes.entitled, 2.0 * np.maximum(short, 0.0), 0.0)
    above_low = sizes.share * np.maximum(counts - sizes.low, 0)
    return np.where(sizes.entitled, np.abs(short), above_low)


def curves(apps: Sequence[AppRequest], rooms: Sequence[Resources]) -> list[Curve | None]:
    """Return the concave speed curve of each application, or None for a linear one.

    Args:
        apps: The applications.
        rooms: Capacity of one node of each class.
    """
    fit = {
        demand: max((demand.times_in(room) for room in rooms), default=0)
        for demand in dict.fromkeys(app.demand for app in apps if app.speed)
    }
    return [concave(app.speed, fit[app.demand]) if app.speed else None for app in apps]


def concave(speed: Sequence[SpeedPoint], fit: int) -> Curve | None:
    """Return the upper concave hull of a speed curve, from (0, 0), or None.

    Of points with the same number of containers the fastest counts that the nodes allow. Beyond
    its last point a curve is flat: nobody promised more. One that falls there falls on, since it
    would not be concave otherwise.

    Args:
        speed: The points of the curve.
        fit: Most containers of the application on one node; 0 when that is not known.
    """
    best: dict[int, float] = {}
    for point in speed:
        if _is_possible(point, fit):
            best[point.containers] = max(point.speed, best.get(point.containers, 0.0))
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for containers, fastest in sorted(best.items()):
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], (containers, fastest)):
            hull.pop()
        hull.append((float(containers), fastest))
    if len(hull) == 1 or hull[1][1] <= 0:
        return None
    (before, faster), (last, slower) = hull[-2:]
    if slower < faster:
        hull.append((last + FAR, slower + (slower - faster) / (last - before) * FAR))
    unit = hull[1][1] / hull[1][0]
    return tuple((containers, fastest / unit) for containers, fastest in hull)


def _is_possible(point: SpeedPoint, fit: int) -> bool:
    return point.nodes == 0 or fit == 0 or point.nodes >= -(-point.containers // fit)


def _is_below(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run <= rise * (middle[0] - left[0])


def speeds(curves: Sequence[Curve], counts: Ints) -> Floats:
    """Return the speeds at sizes: linear between the points of a curve, flat after the last.

    Args:
        curves: N of them.
        counts: (P, N) sizes.
    """
    most = max(len(curve) for curve in curves)
    # Curves of fewer points repeat their last one.
    knots = np.array([(*curve, *(curve[-1:] * (most - len(curve)))) for curve in curves])
    everyone = np.arange(len(curves))
    right = np.zeros(counts.shape, dtype=np.int64)
    for knot in range(1, most):
        right += counts > knots[:, knot, 0]
    right = np.minimum(right + 1, most - 1)
    (x0, y0), (x1, y1) = (np.moveaxis(knots[everyone, at], -1, 0) for at in (right - 1, right))
    run = np.maximum(x1 - x0, 1.0)
    found: Floats = np.where(counts >= x1, y1, y0 + (y1 - y0) / run * (counts - x0))
    return found
