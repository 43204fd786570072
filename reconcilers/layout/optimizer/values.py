"""What a size is worth to the cluster, and how unfair it is: the value points of a model.

`utilization`, the paper's objective: `G_i(n) = u_i * n`, the resources that it occupies.

`goodput`: `G_i(n) = u_i * v_i(n) - price * max(0, s^_i - delta_i * n)`. `v_i(n)` is how many
containers' work `n` containers do: the speed curve, scaled so that its first point counts fully;
without a curve `v_i(n) = n`. The second term pulls everyone up to its fair share long before the
paper's bound on the total loss would.

Both are made concave (the upper hull of the curve) and linear between a few points, so that linear
programs over them are exact. Loss is `|delta_i * n - s^_i|`, between the integers around `s^_i` its
chord. Whoever is not entitled loses nothing by waiting, and once placed counts what it has above
its minimum.
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
    points = _points(sizes)
    zero = np.zeros(len(sizes.low), dtype=np.int64)
    return Values(
        points=points,
        gain=_gain(sizes, points),
        loss=_loss(sizes, points),
        gain_zero=_gain(sizes, zero[None])[0],
        loss_zero=np.where(sizes.entitled, sizes.fair, 0.0),
        gain_old=_gain(sizes, sizes.old[None])[0],
        loss_old=np.where(
            sizes.old > 0,
            _loss(sizes, sizes.old[None])[0],
            np.where(sizes.entitled, sizes.fair, 0.0),
        ),
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
    for index, curve in enumerate(sizes.curves):
        if curve is not None:
            speed[:, index] = [speed_of(curve, count) for count in counts[:, index].tolist()]
    short = np.maximum(sizes.fair - sizes.share * counts, 0.0)
    return sizes.use * speed - sizes.shortfall_price * short


def _loss(sizes: Sizes, counts: Ints) -> Floats:
    fair = np.abs(sizes.share * counts - sizes.fair)
    return np.where(sizes.entitled, fair, sizes.share * np.maximum(counts - sizes.low, 0))


def concave(app: AppRequest, rooms: Sequence[Resources]) -> Curve | None:
    """Return the upper concave hull of an application's speed curve, from (0, 0), or None.

    Of points with the same number of containers the fastest counts that the nodes allow. Beyond
    its last point a curve is flat: nobody promised more.

    Args:
        app: The application.
        rooms: Capacity of one node of each class.
    """
    if not app.speed:
        return None
    fit = max((app.demand.times_in(room) for room in rooms), default=0)
    best: dict[int, float] = {}
    for point in app.speed:
        if _is_possible(point, fit):
            best[point.containers] = max(point.speed, best.get(point.containers, 0.0))
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for containers, speed in sorted(best.items()):
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], (containers, speed)):
            hull.pop()
        hull.append((float(containers), speed))
    if len(hull) == 1 or hull[1][1] <= 0:
        return None
    unit = hull[1][1] / hull[1][0]
    return tuple((containers, speed / unit) for containers, speed in hull)


def _is_possible(point: SpeedPoint, fit: int) -> bool:
    return point.nodes == 0 or fit == 0 or point.nodes >= -(-point.containers // fit)


def _is_below(
    left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]
) -> bool:
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run <= rise * (middle[0] - left[0])


def speed_of(curve: Curve, count: int) -> float:
    """Return the speed at a size: linear between the points, flat after the last."""
    before = curve[0]
    for point in curve[1:]:
        if count <= point[0]:
            rise = (point[1] - before[1]) / (point[0] - before[0])
            return before[1] + rise * (count - before[0])
        before = point
    return before[1]
