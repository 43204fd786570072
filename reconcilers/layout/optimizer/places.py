"""From sizes to nodes: an application on as few nodes and racks as possible.

Slots of a shape lie in rack order. The largest application comes first and takes whole nodes one
after the other; whoever fits on one node takes the tightest one, so that what larger ones left over
on their last nodes is used up first, and nobody is spread who need not be.
"""

from collections import deque
from collections.abc import Sequence

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Ints, Model, Places
from reconcilers.layout.optimizer.request import RolePlace
from reconcilers.layout.optimizer.rounding import Slots
from reconcilers.layout.optimizer.segments import Segments
from reconcilers.layout.optimizer.shapes import Shapes


@attrs.define(eq=False)
class _Pool:
    """Slots of one shape, in rack order, that are dealt to takers.

    Attributes:
        nodes: Node of each slot.
        left: Containers that still fit there.
    """

    nodes: list[int]
    left: list[int]
    cursor: int = 0
    buckets: dict[int, deque[int]] = attrs.field(factory=dict)
    sizes: list[int] = attrs.field(factory=list)
    slot_of: dict[int, int] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Sort the slots into buckets of equal size, and index them by node."""
        self.slot_of = {node: slot for slot, node in enumerate(self.nodes)}
        for slot, count in enumerate(self.left):
            self.buckets.setdefault(count, deque()).append(slot)
        self.sizes = list(range(max(self.left, default=0) + 1))

    def at(self, node_slot: int, count: int) -> tuple[int, int]:
        """Take up to `count` containers of one slot; return the node and how many those are."""
        got = min(count, self.left[node_slot])
        self.left[node_slot] -= got
        if self.left[node_slot] > 0:
            self.buckets.setdefault(self.left[node_slot], deque()).append(node_slot)
        return self.nodes[node_slot], got

    def take_at(self, nodes: Sequence[int], count: int) -> list[tuple[int, int]]:
        """Take up to `count` containers on some nodes."""
        taken = []
        for node in nodes:
            slot = self.slot_of.get(node, -1)
            if count > 0 and slot >= 0 and self.left[slot] > 0:
                taken.append(self.at(slot, count))
                count -= taken[-1][1]
        return taken

    def take(self, count: int) -> list[tuple[int, int]]:
        """Take `count` containers, on one node if one has room, else along the racks.

        Of nodes with room for all of them the tightest: a node full of one's own, if there is one.
        """
        tightest = self._tightest(count)
        if tightest is not None:
            return [self.at(tightest, count)]
        taken = []
        while count > 0 and self.cursor < len(self.left):
            if self.left[self.cursor] == 0:
                self.cursor += 1
                continue
            taken.append(self.at(self.cursor, count))
            count -= taken[-1][1]
        return taken

    def _tightest(self, count: int) -> int | None:
        for size in self.sizes[count:]:
            bucket = self.buckets.get(size)
            while bucket:
                if self.left[bucket[0]] == size:
                    return bucket.popleft()
                bucket.popleft()  # Its slot has been taken from since.
        return None


@attrs.frozen(kw_only=True, eq=False)
class _Taker:
    """Who wants `count` containers: an application, or (`role` >= 0) one of its fixed roles."""

    app: int
    role: int
    count: int


def deal_places(
    model: Model, shapes: Shapes, segments: Segments, taken: Ints, slots: Slots, homes: Places
) -> tuple[Places, tuple[RolePlace, ...]]:
    """Return where the containers go that each segment was dealt: of applications, and of roles.

    Args:
        model: The cluster.
        shapes: Of the request.
        segments: Of the request.
        taken: (J,) containers of each segment.
        slots: Where containers of each shape fit.
        homes: Where applications are, and had better grow.
    """
    size = np.zeros(model.apps, dtype=np.int64)
    np.add.at(size, segments.app, taken)
    opened = set(segments.app[segments.first & (taken > 0)].tolist())
    takers: dict[int, list[_Taker]] = {}
    for app in np.flatnonzero(size).tolist():
        taker = _Taker(app=app, role=-1, count=int(size[app]))
        takers.setdefault(int(shapes.of_app[app]), []).append(taker)
    for role in np.flatnonzero(shapes.of_role >= 0).tolist():
        if model.roles[role].app in opened:
            taker = _Taker(app=model.roles[role].app, role=role, count=model.roles[role].count)
            takers.setdefault(int(shapes.of_role[role]), []).append(taker)
    home_of = _homes(homes, [app for app in np.flatnonzero(size).tolist() if app not in opened])
    rows: list[tuple[int, int, int]] = []
    roles: list[RolePlace] = []
    begin = np.searchsorted(slots.shape, np.arange(len(shapes.demand) + 1))
    for shape, queue in sorted(takers.items()):
        part = slice(int(begin[shape]), int(begin[shape + 1]))
        pool = _Pool(slots.node[part].tolist(), slots.count[part].tolist())
        for taker in sorted(queue, key=lambda taker: (-taker.count, taker.app, taker.role)):
            places = _take(pool, taker, home_of.get(taker.app, ()))
            if taker.role < 0:
                rows += [(taker.app, node, count) for node, count in places.items()]
            else:
                roles += [
                    RolePlace(role=taker.role, node=node, count=count)
                    for node, count in sorted(places.items())
                ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    added = Places(app=table[:, 0], node=table[:, 1], count=table[:, 2])
    return added, tuple(sorted(roles, key=lambda place: (place.role, place.node)))


def _homes(homes: Places, apps: list[int]) -> dict[int, Sequence[int]]:
    """Return the nodes where growing applications are, which they had better grow on."""
    begin = np.searchsorted(homes.app, apps)
    end = np.searchsorted(homes.app, apps, side="right")
    return {
        app: homes.node[first:last].tolist()
        for app, first, last in zip(apps, begin.tolist(), end.tolist(), strict=True)
    }


def _take(pool: _Pool, taker: _Taker, home: Sequence[int]) -> dict[int, int]:
    places: dict[int, int] = {}
    missing = taker.count
    taken = pool.take_at(home, missing) if home else []
    missing -= sum(count for _, count in taken)
    for node, count in (*taken, *(pool.take(missing) if missing else ())):
        places[node] = places.get(node, 0) + count
    return places
