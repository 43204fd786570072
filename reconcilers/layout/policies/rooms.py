"""What is free on each node, and a look-up that does not visit equal nodes one by one.

Mutable on purpose: rooms live within one call of a policy.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Self

import attrs

from events.units import Resources
from reconcilers.layout.snapshot import AppRequest, NodeOffer

PLENTY: Final = 1 << 62  # more containers than any cluster holds

Signature = tuple[bool, int, int, int]
"""Whether the node has GPUs at all, and what is free: cpu, memory, GPUs."""


@attrs.define(kw_only=True, eq=False)
class Room:
    """What is free on one node.

    Attributes:
        has_gpus: Whether the node has any, free or not.
        guests: Ids of the applications that have elastic containers here.
    """

    node_id: str
    cpu_milli: int
    memory_bytes: int
    gpu_count: int
    has_gpus: bool
    guests: dict[str, None] = attrs.field(factory=dict)

    @classmethod
    def of(cls, node: NodeOffer) -> Self:
        """Return the empty room of a node."""
        room = node.room
        return cls(
            node_id=node.node_id,
            cpu_milli=max(0, room.cpu_milli),
            memory_bytes=max(0, room.memory_bytes),
            gpu_count=max(0, room.gpu_count),
            has_gpus=node.capacity.gpu_count > 0,
        )

    @property
    def free(self) -> Resources:
        """Return what is free."""
        return Resources(
            cpu_milli=self.cpu_milli, memory_bytes=self.memory_bytes, gpu_count=self.gpu_count
        )

    @property
    def signature(self) -> Signature:
        """Return what tells this room from others, its name apart."""
        return self.has_gpus, self.cpu_milli, self.memory_bytes, self.gpu_count

    def places(self, demand: Resources) -> int:
        """Return how many containers of this demand fit in the free room."""
        return places_in(self.signature, demand)


def places_in(signature: Signature, demand: Resources) -> int:
    """Return how many containers of a demand fit in a room of this signature."""
    _, cpus, memory, gpus = signature
    least = PLENTY
    if demand.cpu_milli > 0:
        least = cpus // demand.cpu_milli
    if demand.memory_bytes > 0 and (places := memory // demand.memory_bytes) < least:
        least = places
    if demand.gpu_count > 0 and (places := gpus // demand.gpu_count) < least:
        least = places
    return least


@attrs.define(eq=False)
class Rooms:
    """All rooms by node id. Rooms that are equally free are found together.

    Attributes:
        floor: What every container asks for at least, resource by resource. A room with less free
            of one resource takes nobody, and is not looked at.
        by_signature: Ids of the rooms of each signature, sorted; None until they are looked up for
            the first time, because most rooms are filled with what runs already before that.
    """

    by_id: dict[str, Room]
    floor: Resources
    by_signature: dict[Signature, list[str]] | None = None

    @classmethod
    def of(cls, nodes: Iterable[NodeOffer], apps: Iterable[AppRequest]) -> Self:
        """Return the empty rooms of all nodes, for these applications."""
        return cls({node.node_id: Room.of(node) for node in nodes}, _floor(apps))

    def take(self, room: Room, demand: Resources, count: int = 1) -> None:
        """Take the room of some containers; with a negative `count`, give it back."""
        listed = self.by_signature
        if listed is not None:
            _unlist(room, listed)
        room.cpu_milli -= demand.cpu_milli * count
        room.memory_bytes -= demand.memory_bytes * count
        room.gpu_count -= demand.gpu_count * count
        if listed is not None and self._is_open(room):
            insort(listed.setdefault(room.signature, []), room.node_id)

    def signatures(self, demand: Resources) -> Iterator[tuple[Signature, int, str]]:
        """Yield signature, places, and first node id of all rooms that take such a container."""
        cpu_milli, memory_bytes = demand.cpu_milli, demand.memory_bytes
        gpu_count = demand.gpu_count
        if self.by_signature is None:
            self.by_signature = self._all_listed()
        for signature, node_ids in self.by_signature.items():
            # Most rooms of a busy cluster are too small, and three comparisons say so.
            _, cpus, memory, gpus = signature
            if cpus >= cpu_milli and memory >= memory_bytes and gpus >= gpu_count:
                yield signature, places_in(signature, demand), node_ids[0]

    def _all_listed(self) -> dict[Signature, list[str]]:
        listed: dict[Signature, list[str]] = {}
        for node_id in sorted(self.by_id):
            if self._is_open(room := self.by_id[node_id]):
                listed.setdefault(room.signature, []).append(node_id)
        return listed

    def _is_open(self, room: Room) -> bool:
        return (
            room.cpu_milli >= self.floor.cpu_milli
            and room.memory_bytes >= self.floor.memory_bytes
            and room.gpu_count >= self.floor.gpu_count
        )


def _unlist(room: Room, listed: dict[Signature, list[str]]) -> None:
    node_ids = listed.get(room.signature)
    if node_ids is None:
        return
    del node_ids[bisect_left(node_ids, room.node_id)]
    if not node_ids:
        del listed[room.signature]


def can_run(app: AppRequest) -> bool:
    """Return whether what an application has is enough to run on."""
    return (
        not app.is_evicted
        and sum(app.placement.values()) >= app.min
        and all(
            sum(app.role_placement.get(role.name, {}).values()) >= role.count for role in app.roles
        )
    )


def placed(
    rooms: Rooms, placement: Mapping[str, int], demand: Resources
) -> Iterator[tuple[Room, int]]:
    """Yield the rooms of a placement, and how many of its containers have a place there."""
    for node_id, count in sorted(placement.items()):
        if (room := rooms.by_id.get(node_id)) and (fits := min(count, room.places(demand))) > 0:
            yield room, fits


def _floor(apps: Iterable[AppRequest]) -> Resources:
    demands = [app.demand for app in apps]
    demands += [role.demand for app in apps for role in app.roles]
    return Resources(
        cpu_milli=min((demand.cpu_milli for demand in demands), default=0),
        memory_bytes=min((demand.memory_bytes for demand in demands), default=0),
        gpu_count=min((demand.gpu_count for demand in demands), default=0),
    )
