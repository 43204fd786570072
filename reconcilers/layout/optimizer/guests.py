"""Who could make way for a container, by node."""

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Bools, Ints, Model
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.table import Table


@attrs.frozen(kw_only=True, eq=False)
class Guests:
    """Containers that could make way: parallel arrays, sorted by node.

    Attributes:
        start: (H + 1,) where each node begins.
    """

    node: Ints
    app: Ints
    count: Ints
    start: Ints

    def on(self, node: int) -> list[tuple[int, int]]:
        """Return (application, containers) on one node."""
        here = slice(self.start[node], self.start[node + 1])
        return list(zip(self.app[here].tolist(), self.count[here].tolist(), strict=True))

    def room(self, model: Model) -> Ints:
        """Return (H, R) what all of them take."""
        room = np.zeros_like(model.room)
        np.add.at(room, self.node, model.demand[self.app] * self.count[:, None])
        return room


def guests_of(table: Table, most: Ints) -> Guests:
    """Return the containers of those with an entry in `most`, and at most so many of a node."""
    places = table.all_places()
    keep = np.flatnonzero(most[places.app] > 0)
    keep = keep[np.argsort(places.node[keep], kind="stable")]
    app, node = places.app[keep], places.node[keep]
    return Guests(
        node=node,
        app=app,
        count=np.minimum(places.count[keep], most[app]),
        start=np.searchsorted(node, np.arange(len(table.free) + 1)),
    )


def usable(guide: Guide, app: int, model: Model) -> Bools:
    """Return (H,) which nodes are of a class that can hold a container of an application."""
    fits: Bools = np.isfinite(guide.unit_price[app])[model.node_class]
    return fits


def needed(lack: Ints, each: Ints) -> int:
    """Return how many containers of `each` have to go to make up for a lack of room."""
    some = (lack > 0) & (each > 0)
    return int((-(-lack[some] // each[some])).max(initial=0))
