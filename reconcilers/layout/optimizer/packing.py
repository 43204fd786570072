"""Placing the containers of one application by best fit, cheapest node class first.

For what the pattern program leaves over, and for what has to be placed at once. Within a class the
roomiest nodes are filled first, which keeps an application on few nodes; what remains goes where it
fits most tightly, which keeps large holes whole for whoever needs whole nodes.
"""

from typing import Self

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Bools, Floats, Ints, Model
from reconcilers.layout.optimizer.prices import Dual
from reconcilers.layout.optimizer.request import RolePlace
from reconcilers.layout.optimizer.shapes import SHAPES_MAX, distinct
from reconcilers.layout.optimizer.table import Table, times


@attrs.frozen(kw_only=True, eq=False)
class Guide:
    """What the prices say about where to put things.

    Attributes:
        unit_price: (A, C) of one container; infinite where none fits.
        price: (A,) of one container where it is cheapest.
        loss_price: Of one unit of fairness loss.
        nodes: Indices of the nodes of each class, neighbours in racks together.
        seniority: (A,) indices of applications in the order in which they are served.
    """

    unit_price: Floats
    price: Floats
    loss_price: float
    nodes: tuple[Ints, ...]
    seniority: Ints

    @classmethod
    def of(cls, model: Model, dual: Dual) -> Self:
        """Return the guide that the prices of a dual make."""
        by_class = model.node_class[model.order]
        return cls(
            unit_price=dual.unit_price,
            price=dual.unit_price.min(axis=1, initial=np.inf),
            loss_price=dual.prices.loss,
            nodes=tuple(model.order[by_class == index] for index in range(len(model.classes))),
            seniority=_seniority(model),
        )

    def classes(self, app: int) -> list[int]:
        """Return the classes whose nodes can hold a container of an application, cheapest first."""
        prices = self.unit_price[app]
        order = np.argsort(np.round(prices, 12), kind="stable")
        return [index for index in order.tolist() if np.isfinite(prices[index])]

    def has_room(self, table: Table) -> Bools:
        """Return (A,) whether some class has as much of each resource left on some of its nodes.

        Where that is false nothing fits; where it is true something may.
        """
        demand = table.model.demand
        fits = np.zeros(len(demand), dtype=bool)
        for index, nodes in enumerate(self.nodes):
            most = table.free[nodes].max(axis=0, initial=0)
            fits |= (demand <= most).all(axis=1) & np.isfinite(self.unit_price[:, index])
        return fits

    def can_start(self, table: Table, waiting: Bools) -> Bools:
        """Return (A,) who of those waiting finds places for its minimum, fixed roles aside.

        With very many shapes only `has_room` is asked.
        """
        model, can = table.model, waiting & self.has_room(table)
        ids = np.flatnonzero(can)
        shapes, which = distinct(model.demand[ids])
        if len(shapes) > SHAPES_MAX:
            return can
        for index, shape in enumerate(shapes):
            own = ids[which == index]
            most = times(table.free, shape).sum()
            can[own] = model.low[own] <= most
        return can


def _seniority(model: Model) -> Ints:
    """Return application indices: higher tiers first, then who lost places, then the older."""
    submitted = np.array([app.submitted_ms for app in model.snapshot.apps], dtype=np.int64)
    return np.lexsort((np.arange(model.apps), submitted, ~model.evicted, -model.tier))


def spots(table: Table, guide: Guide, app: int, count: int) -> dict[int, int]:
    """Return places for up to `count` more containers of an application; the table stays."""
    demand, slots = table.model.demand[app], dict[int, int]()
    for index in guide.classes(app):
        nodes = guide.nodes[index]
        found = best_fit(nodes, times(table.free[nodes], demand), count)
        slots.update(found)
        count -= sum(found.values())
        if count <= 0:
            break
    return slots


def best_fit(nodes: Ints, room: Ints, count: int) -> dict[int, int]:
    """Return places for up to `count` containers: roomiest first, the rest where it fits tightly.

    Args:
        nodes: (N,) where there may be room.
        room: (N,) how many containers fit there.
        count: How many to place.
    """
    some = np.flatnonzero(room > 0)
    order = some[np.argsort(-room[some], kind="stable")]
    room, nodes = room[order], nodes[order]
    sums = np.cumsum(room)
    whole = int(np.searchsorted(sums, count))  # so many nodes are filled up
    slots = dict(zip(nodes[:whole].tolist(), room[:whole].tolist(), strict=True))
    rest = count - (int(sums[whole - 1]) if whole else 0)
    if whole < len(nodes) and rest > 0:
        tight = int(np.flatnonzero(room >= rest)[-1])
        slots[int(nodes[tight])] = rest
    return slots


def admit(table: Table, guide: Guide, app: int, count: int) -> bool:
    """Place a waiting application with its fixed roles, or nothing; return whether it fits."""
    slots = spots(table, guide, app, count)
    if sum(slots.values()) < count:
        return False
    before = table.copy()
    table.put(app, slots)
    if admit_roles(table, app):
        return True
    table.assign(before)
    return False


def admit_roles(table: Table, app: int) -> bool:
    """Place the fixed roles of an application; return whether all of them fit."""
    order = table.model.order
    for index in table.roles_of(app):
        role = table.model.roles[index]
        places = best_fit(order, times(table.free[order], role.demand), role.count)
        if sum(places.values()) < role.count:
            return False
        table.put_roles(
            RolePlace(role=index, node=node, count=many) for node, many in sorted(places.items())
        )
    return True
