"""The nodes of a snapshot as arrays: rooms, classes of equal machines, and who stands by whom."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, Self

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.optimizer.model import RESOURCES, Ints
from reconcilers.layout.snapshot import NodeOffer

CLASS_STEPS: Final = (
    64  # capacities that differ by less than this part of the largest are one class
)
_FIELDS: Final = ("cpu_milli", "memory_bytes", "gpu_count")


@attrs.frozen(kw_only=True, eq=False)
class Rooms:
    """What the nodes have, in units; shapes as in `Model`.

    Attributes:
        index: Of each node, by id.
    """

    room: Ints
    total: Ints
    node_class: Ints
    classes: Ints
    class_room: Ints
    class_nodes: Ints
    index: dict[str, int]

    @classmethod
    def of(cls, offers: Sequence[NodeOffer], units: Ints) -> Self:
        """Return what these nodes have, in units of each resource."""
        capacity = amounts([offer.capacity for offer in offers])
        room = capacity.copy()
        reserved = [index for index, offer in enumerate(offers) if offer.available is not None]
        room[reserved] = amounts([offers[index].room for index in reserved])
        capacity, room = capacity // units, np.maximum(room // units, 0)
        node_class = _classes(capacity)
        count = int(node_class.max(initial=-1)) + 1
        classes = np.zeros((count, len(RESOURCES)), dtype=np.int64)
        class_room = np.zeros_like(classes)
        np.maximum.at(classes, node_class, capacity)
        np.add.at(class_room, node_class, room)
        return cls(
            room=room,
            total=capacity.sum(axis=0),
            node_class=node_class,
            classes=classes,
            class_room=class_room,
            class_nodes=np.bincount(node_class, minlength=count).astype(np.int64),
            index={offer.node_id: index for index, offer in enumerate(offers)},
        )


def amounts(resources: Sequence[Resources]) -> Ints:
    """Return (N, R) amounts; column by column, since tuples of thousands of rows are slow."""
    columns = [np.fromiter(map(attrgetter(field), resources), np.int64) for field in _FIELDS]
    return np.stack(columns, axis=1)


def _classes(capacity: Ints) -> Ints:
    """Return (H,) the class of each node; classes ascend by processors, then memory, devices."""
    step = np.maximum(capacity.max(axis=0, initial=1) // CLASS_STEPS, 1)
    level = capacity // step  # below 2 * CLASS_STEPS, so three of them are one number
    cpu, memory, gpu = level.T
    key = (cpu * 2 * CLASS_STEPS + memory) * 2 * CLASS_STEPS + gpu
    _, node_class = np.unique(key, return_inverse=True)
    return node_class.reshape(-1).astype(np.int64)


def rack_order(offers: Sequence[NodeOffer]) -> Ints:
    """Return node indices in an order in which neighbours share racks, and racks share rows.

    Containers of one application talk to each other, and the fewer switches lie between them the
    better. That is a preference, never a rule. Depth first through the tree of places, by name; the
    machines of a rack stay in the order of the snapshot. Those of unknown rack come first.
    """
    places = {rack: _place(rack) for rack in dict.fromkeys(offer.rack for offer in offers)}
    rank = {place: index for index, place in enumerate(sorted({*places.values()}))}
    of_rack = {rack: rank[place] for rack, place in places.items()}
    ranks = np.fromiter((of_rack[offer.rack] for offer in offers), np.int64)
    return np.argsort(ranks, kind="stable")


def _place(rack: str) -> tuple[str, ...]:
    return tuple(filter(None, rack.split("/")))
