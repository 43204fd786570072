"""The layout problem with everything that couples applications priced.

Three kinds of rows tie applications together: the room of each node class in each resource, the
fairness loss, and the touch budget. Charge a price theta_j >= 0 for each instead of enforcing it,
and every application chooses for itself, whatever the others do:

    keep_i    its containers where they are: gain_old - loss price * loss_old - room of its places
    zero_i    nothing (only if it waits, is evicted or yields): gain_zero - loss price * loss_zero
    change_i  the best of its points p, each container on the class where it is cheapest:
              gain[p] - loss price * loss[p] - room of points[p] containers and of its fixed roles
              - touch_cost - touch price (these two only if it runs)

Points suffice because gain and loss are linear between them. What all of them choose together is a
`Proposal`: its gain, and what it leaves of each row (below zero where it takes too much). Its
Lagrangian at any prices is

    gain + sum_j theta_j * spare_j

and the largest of these over all proposals, which is the one `propose` returns, is an upper bound
on every layout within the rows: there no spare is negative, so prices only add to the gain.

All rows count in shares of the cluster (touches: in parts of all running applications), so that
prices are of one magnitude whatever the size of the cluster.

Source: Lagrangian relaxation, Geoffrion, "Lagrangean relaxation for integer programming", 1974.
"""

import math
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import (
    RESOURCES,
    Bools,
    Floats,
    Ints,
    Model,
    share_of,
)

LOSS: Final = -2  # index of the row of the fairness loss, counted from the end
TOUCH: Final = -1  # index of the row of the touch budget
_NEVER: Final = 1e12  # costs more than anything is worth
_UNIT: Final = 1 << 40  # of the fixed-point gains: 5,000 roundings add up to less than 1e-8


@attrs.frozen(kw_only=True, eq=False)
class Proposal:
    """What every application chooses at some prices.

    Attributes:
        gain: Sum of the gains, less restarts.
        spare: (J,) what is left of each row.
        changes: (A,) chose to be placed anew.
        size: (A,) containers, of those that change.
        node_class: (A,) where, of those that change.
    """

    gain: float
    spare: Floats
    changes: Bools
    size: Ints
    node_class: Ints

    def at(self, prices: Floats) -> float:
        """Return its Lagrangian: a bound where the proposal is the best one at these prices."""
        return self.gain + math.fsum((prices * self.spare).tolist())


@attrs.frozen(kw_only=True, eq=False)
class Relaxed:
    """What one model needs to answer prices with proposals; see `relax`.

    Shapes are distinct demands, of elastic containers and of fixed roles alike: hundreds of
    applications that ask for equal containers are priced once.

    Attributes:
        model: What it was made from.
        touches_max: The touch budget, which may differ from the model's.
        gain, loss, gain_old, loss_old, gain_zero, loss_zero: As in the model, a change's gain less
            what the restart costs, in fixed point: integers add up exactly and fast in any order.
        counts: (P, A) containers at each point.
        rows: (J - 2, 2) class and resource of each row of room.
        shapes: (S, R) distinct demands.
        fraction: (S, 1, R) share of the cluster that a container of each shape takes.
        fits: (S, C) whether one node of the class can hold one.
        shape: (A,) of the elastic containers.
        role_shape, role_app, role_count: (N,) the same for fixed roles.
        old_share: (J - 2, A) what each application takes of each row where it is.
        old_room, old_total: (A, C, R) the same as amounts, and (C, R) their sum.
        has_old: (A,) whether they are anything.
        may_keep, may_leave, may_change: (A,) choices that an application has.
        counted: (A,) a change of it counts against the budget.
        touchable: How many those are, at least 1.
        class_share: (C, R) the part of the cluster that each class is.
    """

    model: Model
    touches_max: int
    gain: Ints
    loss: Ints
    gain_old: Ints
    loss_old: Ints
    gain_zero: Ints
    loss_zero: Ints
    counts: Floats
    rows: Ints
    shapes: Ints
    fraction: Floats
    fits: Bools
    shape: Ints
    role_shape: Ints
    role_app: Ints
    role_count: Ints
    old_share: Floats
    old_room: Ints
    old_total: Ints
    has_old: Bools
    may_keep: Bools
    may_leave: Bools
    may_change: Bools
    counted: Bools
    touchable: int
    class_share: Floats

    def container_prices(self, prices: Floats) -> Floats:
        """Return (S, C) what a container of each shape costs; infinite where it does not fit."""
        by_room = np.zeros((len(self.model.classes), len(RESOURCES)))
        by_room[self.rows[:, 0], self.rows[:, 1]] = prices[:LOSS]
        part = self.fraction * by_room
        return np.where(self.fits, part[..., 0] + part[..., 1] + part[..., 2], np.inf)

    def propose(self, prices: Floats) -> Proposal:
        """Return what every application chooses at these prices."""
        model = self.model
        by_class = self.container_prices(prices)
        cheapest = by_class.argmin(axis=1)
        price = np.minimum(by_class[np.arange(len(cheapest)), cheapest], _NEVER)
        point, value = self._best_point(price[self.shape], prices[LOSS])
        keeping, leaving, changing = self._worth(prices, value, price)
        changes = changing > np.maximum(keeping, leaving)
        leaves = ~changes & (leaving > keeping)
        at = point * model.apps + np.arange(model.apps)  # in the flattened tables
        gain = np.where(changes, self.gain.take(at), self.gain_old)
        loss = np.where(changes, self.loss.take(at), self.loss_old)
        size = model.points.take(at)
        return Proposal(
            gain=_sum(np.where(leaves, self.gain_zero, gain)),
            spare=np.append(
                self._room_left(changes, leaves, size, cheapest),
                (
                    model.loss_max - _sum(np.where(leaves, self.loss_zero, loss)),
                    (self.touches_max - _count(changes & self.counted)) / self.touchable,
                ),
            ),
            changes=changes,
            size=size,
            node_class=cheapest[self.shape],
        )

    def _best_point(self, price: Floats, loss_price: float) -> tuple[Ints, Floats]:
        """Return (A,) the index of the first best point, and what it is worth."""
        model, point = self.model, np.zeros(self.model.apps, dtype=np.int64)
        best = np.full(self.model.apps, -np.inf)
        for index, count in enumerate(self.counts):  # several times faster than `argmax`
            value = model.gain[index] - price * count - loss_price * model.loss[index]
            np.putmask(point, value > best, index)
            np.maximum(best, value, out=best)
        return point, best

    def _worth(self, prices: Floats, changed: Floats, price: Floats) -> tuple[Floats, ...]:
        """Return (A,) the worth of keeping, leaving and changing; minus infinity where barred."""
        model = self.model
        place = np.zeros(model.apps)
        for row, share in enumerate(self.old_share):  # a fixed order of sums, unlike BLAS
            place += prices[row] * share
        keeping = model.gain_old - place - prices[LOSS] * model.loss_old
        leaving = model.gain_zero - prices[LOSS] * model.loss_zero
        one_touch = prices[TOUCH] / self.touchable
        changing = changed - model.touch_cost - one_touch * self.counted
        np.subtract.at(changing, self.role_app, price[self.role_shape] * self.role_count)
        return (
            np.where(self.may_keep, keeping, -np.inf),
            np.where(self.may_leave, leaving, -np.inf),
            np.where(self.may_change, changing, -np.inf),
        )

    def _room_left(self, changes: Bools, leaves: Bools, size: Ints, cheapest: Ints) -> Floats:
        """Return (J - 2,) what a choice leaves of each row of room. All sums are of integers."""
        moves = np.flatnonzero((changes | leaves) & self.has_old)
        used = self.old_total - self.old_room[moves].sum(axis=0)
        roles = np.flatnonzero(changes[self.role_app])
        containers = np.bincount(
            np.concatenate((self.shape[changes], self.role_shape[roles])),
            weights=np.concatenate((size[changes], self.role_count[roles])),
            minlength=len(self.shapes),
        ).astype(np.int64)
        np.add.at(used, cheapest, self.shapes * containers[:, None])
        left = self.model.class_room - used
        return share_of(left, self.model.total)[self.rows[:, 0], self.rows[:, 1]]


def relax(model: Model, touches_max: int) -> Relaxed:
    """Return what one model needs to answer prices with proposals."""
    roles = model.roles
    role_demand = _table([role.demand for role in roles])
    role_app = np.array([role.app for role in roles], dtype=np.int64)
    role_count = np.array([role.count for role in roles], dtype=np.int64)
    shapes, index = _distinct(np.concatenate((model.demand, role_demand)))
    shape, role_shape = np.split(index, [model.apps])
    fits = _fits(model, shapes)
    has_place: Bools = np.any(fits, axis=1)
    homeless = np.zeros(model.apps, dtype=bool)
    homeless[role_app[~has_place[role_shape]]] = True
    rows = np.argwhere(model.class_room > 0)
    old_room = _old_room(model)
    old_share = share_of(old_room, model.total)[:, rows[:, 0], rows[:, 1]]
    counted = model.running & ~model.rests
    may_change = has_place[shape] & ~homeless & ~model.rests
    return Relaxed(
        model=model,
        touches_max=touches_max,
        gain=_fixed(model.gain - model.touch_cost),
        loss=_fixed(model.loss),
        gain_old=_fixed(model.gain_old),
        loss_old=_fixed(model.loss_old),
        gain_zero=_fixed(model.gain_zero),
        loss_zero=_fixed(model.loss_zero),
        counts=model.points.astype(np.float64),
        rows=rows,
        shapes=shapes,
        fraction=share_of(shapes, model.total)[:, None, :],
        fits=fits,
        shape=shape,
        role_shape=role_shape,
        role_app=role_app,
        role_count=role_count,
        old_share=np.ascontiguousarray(old_share.T),
        old_room=old_room,
        old_total=old_room.sum(axis=0),
        has_old=np.any(old_room, axis=(1, 2)),
        may_keep=model.running | model.yields,
        may_leave=~model.running,
        may_change=may_change if touches_max > 0 else may_change & ~counted,
        counted=counted,
        touchable=max(1, _count(counted)),
        class_share=share_of(model.class_room, model.total),
    )


def _table(rows: list[Ints]) -> Ints:
    """Return (N, R), also when there are no rows."""
    return np.array(rows, dtype=np.int64).reshape(-1, len(RESOURCES))


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows, and for each row which of them it is."""
    order = np.lexsort(rows.T)
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    index = np.empty(len(rows), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return rows[order[is_new]], index


def _fixed(values: Floats) -> Ints:
    return np.rint(values * _UNIT).astype(np.int64)


def _sum(values: Ints) -> float:
    return int(values.sum()) / _UNIT


def _count(flags: Bools) -> int:
    return int(np.count_nonzero(flags))


def _fits(model: Model, shapes: Ints) -> Bools:
    """Return (S, C) whether the most that a node of the class has left would hold a container."""
    roomiest = np.zeros_like(model.classes)
    np.maximum.at(roomiest, model.node_class, model.room)
    fits: Bools = np.all(shapes[:, None, :] <= roomiest[None, :, :], axis=2)
    return fits


def _old_room(model: Model) -> Ints:
    """Return (A, C, R) what each application takes now, its fixed roles included."""
    room = model.old_class[:, :, None] * model.demand[:, None, :]
    for role in model.roles:
        for node, count in role.places.items():
            room[role.app, model.node_class[node]] += count * role.demand
    return room
