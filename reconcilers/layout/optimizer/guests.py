"""Who could make way for a container, by node."""

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Bools, Ints, Model
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.table import Table


@attrs.frozen(kw_only=True, eq=False)
class Guests:
    """Containers that could make way: parallel arrays, sorted by node."""

    node: Ints
    app: Ints
    count: Ints

    def on(self, node: int) -> list[tuple[int, int]]:
        """Return (application, containers) on one node."""
        start, end = np.searchsorted(self.node, [node, node + 1]).tolist()
        return list(zip(self.app[start:end].tolist(), self.count[start:end].tolist(), strict=True))

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
    app = places.app[keep]
    return Guests(node=places.node[keep], app=app, count=np.minimum(places.count[keep], most[app]))


def usable(guide: Guide, app: int, model: Model) -> Bools:
    """Return (H,) which nodes are of a class that can hold a container of an application."""
    fits: Bools = np.isfinite(guide.unit_price[app])[model.node_class]
    return fits


def needed(lack: Ints, each: Ints) -> int:
    """Return how many containers of `each` have to go to make up for a lack of room."""
    some = (lack > 0) & (each > 0)
    return int((-(-lack[some] // each[some])).max(initial=0))
