"""What a layout is worth.

    sum_i G_i(n_i) - sum over disturbed running i of c_i - EXCESS_PRICE * max(0, sum_i L_i(n_i) - F)

`G_i` is the gain and `L_i` the fairness loss of `n_i` containers, `c_i` the cost of a restart and F
the fairness bound. The bound is soft, because demands are indivisible and a hard one often leaves
no layout at all; but its price is higher than anything a container can be worth per unit of share
(`u_i / delta_i <= 3`), so it is broken only where it has to be.

All sums are exactly rounded, so that they do not depend on the order or the processor.
"""

import math

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import EXCESS_PRICE, Floats, Ints, Model
from reconcilers.layout.optimizer.table import Table


@attrs.frozen(kw_only=True)
class Score:
    """How good a layout is.

    Attributes:
        value: The objective.
        loss: Sum of the distances from the fair shares.
        touches: Running applications that are disturbed.
    """

    value: float
    loss: float
    touches: int


@attrs.frozen(kw_only=True, eq=False)
class Steps:
    """The next pieces of growth (or the last ones, to shrink) along which values are linear.

    Attributes:
        count: (A,) containers of the piece; 0 where there is none.
        gain, loss: (A,) what the whole piece adds.
    """

    count: Ints
    gain: Floats
    loss: Floats


def score(table: Table) -> Score:
    """Return how good a layout is."""
    model, touched = table.model, table.touched()
    loss = total(losses(model, table.size))
    excess = max(0.0, loss - model.loss_max)
    terms = [*gains(model, table.size).tolist(), *(-model.touch_cost[touched]).tolist()]
    value = math.fsum([*terms, -EXCESS_PRICE * excess])
    return Score(value=value, loss=loss, touches=int(touched.sum()))


def total(values: Floats) -> float:
    """Return the exactly rounded sum."""
    return math.fsum(values.tolist())


def gains(model: Model, size: Ints) -> Floats:
    """Return (A,) what each application's size is worth."""
    return _between(model.points, model.gain, model.gain_zero, size)


def losses(model: Model, size: Ints) -> Floats:
    """Return (A,) how far each application's size is from fair."""
    return _between(model.points, model.loss, model.loss_zero, size)


def _between(points: Ints, values: Floats, zero: Floats, size: Ints) -> Floats:
    """Return values at sizes, linear between the points."""
    everyone = np.arange(points.shape[1])
    piece = np.clip((points < size).sum(axis=0) - 1, 0, len(points) - 2)
    left, right = points[piece, everyone], points[piece + 1, everyone]
    low, high = values[piece, everyone], values[piece + 1, everyone]
    part = (size - left) / np.maximum(right - left, 1)
    inside = np.where(size >= right, high, low + (high - low) * part)
    return np.where(size == 0, zero, inside)


def growth(model: Model, size: Ints) -> Steps:
    """Return the next piece of growth: to the minimum for whoever has nothing, else to a point."""
    beyond = np.where(model.points > size, model.points, np.iinfo(np.int64).max).min(axis=0)
    upper = np.where(size == 0, model.low, np.minimum(beyond, np.maximum(model.high, size)))
    return _piece(model, size, upper)


def decline(model: Model, size: Ints) -> Steps:
    """Return the last piece of growth above the minimum: what the next step back gives up."""
    below = np.where(model.points < size, model.points, 0).max(axis=0)
    return _piece(model, np.where(size > model.low, np.maximum(below, model.low), size), size)


def _piece(model: Model, lower: Ints, upper: Ints) -> Steps:
    return Steps(
        count=upper - lower,
        gain=gains(model, upper) - gains(model, lower),
        loss=losses(model, upper) - losses(model, lower),
    )
