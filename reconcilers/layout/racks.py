"""Where machines stand, as a tree: rows, racks in them, machines in those.

Containers of one application talk to each other, and the fewer switches lie between them the
better. That is a preference, never a rule: it breaks ties between layouts of equal worth.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Self

import attrs
import networkx as nx

from reconcilers.layout.snapshot import NodeOffer

ROOT: Final = ()

Place = tuple[str, ...]
"""A place in the tree: `("row1", "rack7")`, and behind it the node id for a machine."""


@attrs.frozen(eq=False)
class Racks:
    """The tree of all places of a cluster.

    Attributes:
        tree: Edges lead from a place to the places inside of it.
        machines: The place of each node, by id.
    """

    tree: "nx.DiGraph[Place]"
    machines: Mapping[str, Place]

    @classmethod
    def of(cls, nodes: Iterable[NodeOffer]) -> Self:
        """Return the tree of these nodes; a node of unknown rack stands beside all racks."""
        tree: nx.DiGraph[Place] = nx.DiGraph()
        tree.add_node(ROOT)
        machines = {}
        for node in nodes:
            # The empty name cannot be part of a label, so no rack is taken for a machine.
            place = (*_place(node.rack), "", node.node_id)
            nx.add_path(tree, [place[:depth] for depth in _depths(place)])
            machines[node.node_id] = place
        return cls(tree, machines)

    def distance(self, one: str, other: str) -> int:
        """Return how many switches lie between two nodes: 0 on one machine, 1 within a rack.

        A rack has a switch, and so has each level above it, to the root.
        """
        if one == other:
            return 0
        path, other_path = self._switches(one), self._switches(other)
        common = sum(a == b for a, b in zip(path, other_path, strict=False))
        return len(path) + len(other_path) - 2 * common + 1

    def spread(self, placement: Mapping[str, int]) -> int:
        """Return how many racks the containers of an application stand in."""
        return len({self._switches(node_id)[-1] for node_id in placement})

    def _switches(self, node_id: str) -> list[Place]:
        """Return the places around a node, outermost first; the last one is its rack."""
        return sorted(nx.ancestors(self.tree, self.machines[node_id]), key=len)


def _place(rack: str) -> Place:
    return tuple(filter(None, rack.split("/")))


def _depths(place: Place) -> list[int]:
    """Return the lengths of the places around a machine, from the root to itself."""
    return [*range(len(place) - 1), len(place)]
