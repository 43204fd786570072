"""Sizes as sums of segments: pieces of an application's growth of constant value per container.

Between two neighbouring points of an application gain and loss are linear, so that growth from one
to the other is a segment: so many containers, each worth the same. Because gain is concave and loss
convex, an application's earlier segments are never worth less than its later ones: a program that
takes the most valuable segments first takes them in order, and no row per application is
needed. Only the first segment of an application that is placed from nothing is all or nothing.

Segments of equal shape and nearly equal value are one column of the linear program, worth their
mean: what the program gives the column, all of them get in proportion, so it remains a program over
the true values, with few columns, however many applications there are.
"""

import math
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Bools, Floats, Ints, Model
from reconcilers.layout.optimizer.request import FillRequest
from reconcilers.layout.optimizer.shapes import Shapes

CELLS: Final = 48  # nearly equal: within this part of the widest range of a shape


@attrs.frozen(kw_only=True, eq=False)
class Segments:
    """All segments of a request, ordered by application (as requested), then by size.

    Attributes:
        app: (J,) index of the application.
        shape: (J,) of its elastic containers.
        length: (J,) containers.
        gain, loss: (J,) per container.
        first: (J,) all or nothing, and opens the later ones of the same application.
        must: (J,) has to be taken.
        role_segment, role_shape, role_count: (N,) the fixed roles that come with first segments.
        base_gain, base_loss: Of all applications, if no segment at all is taken.
    """

    app: Ints
    shape: Ints
    length: Ints
    gain: Floats
    loss: Floats
    first: Bools
    must: Bools
    role_segment: Ints
    role_shape: Ints
    role_count: Ints
    base_gain: float
    base_loss: float

    def most(self, shapes: int) -> Ints:
        """Return (S,) how many containers of each shape are asked for altogether."""
        most = np.zeros(shapes, dtype=np.int64)
        np.add.at(most, self.shape, self.length)
        np.add.at(most, self.role_shape, self.role_count)
        return most


@attrs.frozen(kw_only=True, eq=False)
class Columns:
    """Segments merged into columns of a linear program.

    Attributes:
        length: (M,) most that a column takes, in elastic containers.
        gain, loss: (M,) per container.
        row, column, amount: Entries: containers of shape `row` per unit of `column`.
        fixed: (S,) containers of each shape that must be there: the segments that have to be taken.
        fixed_gain, fixed_loss: Of those.
    """

    length: Floats
    gain: Floats
    loss: Floats
    row: Ints
    column: Ints
    amount: Floats
    fixed: Ints
    fixed_gain: float
    fixed_loss: float


def cut(model: Model, request: FillRequest, shapes: Shapes) -> Segments:
    """Return the segments of a request.

    What can only do harm, whatever the price of a loss, is left out: growth that gains nothing and
    moves an application away from its fair share.
    """
    apps = request.apps
    points, kept = model.points[:, apps], request.kept[apps]
    upper = model.high[apps]
    if request.limit is not None:
        upper = np.minimum(upper, request.limit[apps])
    fresh = kept == 0
    start = np.vstack([np.zeros_like(kept)[None], points])
    gains = np.vstack([model.gain_zero[apps][None], model.gain[:, apps]])
    losses = np.vstack([model.loss_zero[apps][None], model.loss[:, apps]])
    begin = np.clip(start[:-1], kept, upper)
    length = np.clip(start[1:], kept, upper) - begin
    length[:, fresh & (upper < model.low[apps])] = 0
    step = np.maximum(start[1:] - start[:-1], 1)
    gain, loss = (gains[1:] - gains[:-1]) / step, (losses[1:] - losses[:-1]) / step
    taken = np.clip(kept - start[:-1], 0, start[1:] - start[:-1])
    first = np.zeros(length.shape, dtype=bool)
    first[0] = fresh
    must = first & request.must[apps]
    wanted = (length > 0) & (must | (gain > 0) | (loss < 0))
    column, row = np.nonzero(wanted.T)
    app = apps[column]
    role_segment, role_shape, role_count = _roles(model, shapes, app, first[row, column])
    return Segments(
        app=app,
        shape=shapes.of_app[app],
        length=length[row, column],
        gain=gain[row, column],
        loss=loss[row, column],
        first=first[row, column],
        must=must[row, column],
        role_segment=role_segment,
        role_shape=role_shape,
        role_count=role_count,
        base_gain=_sum(gains[0], gain * taken, request.other_gain),
        base_loss=_sum(losses[0], loss * taken, request.other_loss),
    )


def _sum(zero: Floats, grown: Floats, other: float) -> float:
    return math.fsum([*zero.tolist(), *grown.ravel().tolist(), other])


def _roles(model: Model, shapes: Shapes, app: Ints, first: Bools) -> tuple[Ints, Ints, Ints]:
    segments = dict(zip(app[first].tolist(), np.flatnonzero(first).tolist(), strict=True))
    rows = [
        (segments[role.app], shapes.of_role[index], role.count)
        for index, role in enumerate(model.roles)
        if role.app in segments
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def merge(segments: Segments, shapes: int) -> Columns:
    """Return the columns of a linear program over the segments."""
    free, must = ~segments.must, segments.must
    fixed = np.zeros(shapes, dtype=np.int64)
    np.add.at(fixed, segments.shape[must], segments.length[must])
    with_roles = must[segments.role_segment]
    np.add.at(fixed, segments.role_shape[with_roles], segments.role_count[with_roles])
    column_of, count = _columns(segments, free)
    length = np.zeros(count)
    np.add.at(length, column_of, segments.length[free])
    row = np.zeros(count, dtype=np.int64)
    row[column_of] = segments.shape[free]
    mean = [
        _means(worth, segments, free, column_of, length) for worth in (segments.gain, segments.loss)
    ]
    place = np.full(len(free), -1)
    place[free] = column_of
    gang = segments.role_segment[~with_roles]
    share = segments.role_count[~with_roles] / segments.length[gang]
    return Columns(
        length=length,
        gain=mean[0],
        loss=mean[1],
        row=np.concatenate([row, segments.role_shape[~with_roles]]),
        column=np.concatenate([np.arange(count), place[gang]]),
        amount=np.concatenate([np.ones(count), share]),
        fixed=fixed,
        fixed_gain=math.fsum((segments.gain * segments.length)[must].tolist()),
        fixed_loss=math.fsum((segments.loss * segments.length)[must].tolist()),
    )


def _means(
    worth: Floats, segments: Segments, free: Bools, column_of: Ints, length: Floats
) -> Floats:
    total = np.zeros(len(length))
    np.add.at(total, column_of, (worth * segments.length)[free])
    return total / length


def _columns(segments: Segments, free: Bools) -> tuple[Ints, int]:
    """Return the column of each segment that need not be taken, and how many columns there are.

    A gang with fixed roles has a column of its own, because of its rows.
    """
    shape = segments.shape[free]
    alone = np.zeros(len(free), dtype=np.int64)
    alone[segments.role_segment] = 1 + segments.role_segment
    cells = [
        _cells(worth[free], shape, int(shape.max(initial=0)) + 1)
        for worth in (segments.gain, segments.loss)
    ]
    keys = (cells[1], cells[0], alone[free], shape)
    order = np.lexsort(keys)
    if not len(order):
        return order, 0
    new = np.zeros(len(order), dtype=bool)
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    column_of = np.empty(len(order), dtype=np.int64)
    column_of[order] = np.cumsum(new)
    return column_of, int(column_of.max()) + 1


def _cells(worth: Floats, shape: Ints, shapes: int) -> Ints:
    """Return which of `CELLS` equal parts of the largest magnitude within its shape a value is."""
    largest = np.zeros(shapes)
    np.maximum.at(largest, shape, np.abs(worth))
    width = np.maximum(largest, 1e-300)[shape] / CELLS
    return np.rint(worth / width).astype(np.int64)
