"""First fit on nodes in the order of their ids, for the policies that stand for other managers.

Containers without GPUs first leave alone what the free GPUs of a node need beside them: a GPU
without a cpu is lost to everybody. Only where that is not enough do they take it.
"""

from collections.abc import Mapping

import attrs

from events.units import Resources
from reconcilers.layout.policies.outcome import Layout
from reconcilers.layout.policies.rooms import Room, Rooms
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Snapshot

Roles = dict[str, dict[str, int]]


@attrs.define(eq=False)
class Shelves:
    """The nodes while they are being filled, and what was put on them."""

    snapshot: Snapshot
    rooms: Rooms = attrs.field(init=False)
    nodes: list[NodeOffer] = attrs.field(init=False)
    placements: dict[str, dict[str, int]] = attrs.field(factory=dict)
    roles: dict[str, Roles] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Begin with empty nodes."""
        self.rooms = Rooms.of(self.snapshot.nodes, self.snapshot.apps)
        self.nodes = sorted(self.snapshot.nodes, key=lambda node: node.node_id)

    @property
    def layout(self) -> Layout:
        """Return what stands on the shelves."""
        return Layout(
            placements={app_id: nodes for app_id, nodes in self.placements.items() if nodes},
            role_placements={app_id: roles for app_id, roles in self.roles.items() if roles},
        )

    def keep(self, app: AppRequest) -> None:
        """Leave an application where it is, but for containers above its maximum."""
        nodes = dict(app.placement)
        for _ in range(sum(nodes.values()) - app.max):
            node_id = min(nodes, key=lambda node: (nodes[node], node))
            nodes[node_id] -= 1
            if not nodes[node_id]:
                del nodes[node_id]
        self._put(app, nodes)
        self.placements[app.app_id] = nodes
        roles = {name: dict(places) for name, places in app.role_placement.items() if places}
        self._put_roles(app, roles)
        self.roles[app.app_id] = roles

    def place(self, app: AppRequest, *, least: int, most: int) -> bool:
        """Place an application that has nothing: `least` to `most` containers, and its roles.

        Returns whether it was placed; else nothing changed.
        """
        roles: Roles = {}
        for role in app.roles:
            roles[role.name] = self._first_fit(role.demand, role.count)
        nodes = self._first_fit(app.demand, most)
        complete = all(sum(roles[role.name].values()) == role.count for role in app.roles)
        if not complete or sum(nodes.values()) < least:
            self._put(app, nodes, step=-1)
            self._put_roles(app, roles, step=-1)
            return False
        self.placements[app.app_id], self.roles[app.app_id] = nodes, roles
        return True

    def _first_fit(self, demand: Resources, wanted: int) -> dict[str, int]:
        """Take room for up to `wanted` containers, and return where."""
        nodes: dict[str, int] = {}
        for spares in (True, False) if not demand.gpu_count else (False,):
            for node in self.nodes:
                if not wanted:
                    return nodes
                room = self.rooms.by_id[node.node_id]
                fits = min(wanted, _places(room, node, demand) if spares else room.places(demand))
                if fits:
                    self.rooms.take(room, demand, fits)
                    nodes[node.node_id] = nodes.get(node.node_id, 0) + fits
                    wanted -= fits
        return nodes

    def _put(self, app: AppRequest, nodes: Mapping[str, int], *, step: int = 1) -> None:
        for node_id, count in nodes.items():
            self.rooms.take(self.rooms.by_id[node_id], app.demand, step * count)

    def _put_roles(self, app: AppRequest, roles: Roles, *, step: int = 1) -> None:
        for role in app.roles:
            for node_id, count in roles.get(role.name, {}).items():
                self.rooms.take(self.rooms.by_id[node_id], role.demand, step * count)


def _places(room: Room, node: NodeOffer, demand: Resources) -> int:
    """Return how many fit beside what the free GPUs need: their part of the node."""
    gpus = node.capacity.gpu_count
    if not gpus:
        return room.places(demand)
    spared = Resources(
        cpu_milli=room.cpu_milli - node.capacity.cpu_milli * room.gpu_count // gpus,
        memory_bytes=room.memory_bytes - node.capacity.memory_bytes * room.gpu_count // gpus,
    )
    return demand.times_in(spared)
