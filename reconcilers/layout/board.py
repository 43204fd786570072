"""The table on which a layout is worked out: free room on each node, containers of each app.

Mutable on purpose: it lives within one call of `fairness.improve`. Devices are handled as
positions in the node's report, so that equal boards deal out equal devices.
"""

from bisect import insort
from fractions import Fraction

import attrs

from events.layouts import Partition, Slots
from events.units import Resources
from reconcilers.layout.problem import Contender


@attrs.define(kw_only=True, eq=False)
class Room:
    """What is free on one node.

    Attributes:
        uuids: All devices of the node.
        devices: The free ones, as ascending positions in `uuids`.
        guests: Ids of the contenders that have containers here.
    """

    node_id: str
    cpu_milli: int
    memory_bytes: int
    uuids: tuple[str, ...]
    devices: list[int]
    guests: dict[str, None] = attrs.field(factory=dict)

    def places(self, demand: Resources) -> int:
        """Return how many containers of this demand fit in the free room."""
        counts = []
        if demand.cpu_milli > 0:
            counts.append(self.cpu_milli // demand.cpu_milli)
        if demand.memory_bytes > 0:
            counts.append(self.memory_bytes // demand.memory_bytes)
        if demand.gpu_count > 0:
            counts.append(len(self.devices) // demand.gpu_count)
        return max(0, min(counts, default=0))

    def take(self, demand: Resources, devices: list[int]) -> None:
        """Take one container's room, with these devices."""
        self.cpu_milli -= demand.cpu_milli
        self.memory_bytes -= demand.memory_bytes
        for device in devices:
            self.devices.remove(device)

    def give_back(self, demand: Resources, devices: list[int]) -> None:
        """Give back what `take` took."""
        self.cpu_milli += demand.cpu_milli
        self.memory_bytes += demand.memory_bytes
        for device in devices:
            insort(self.devices, device)


@attrs.define(kw_only=True, eq=False)
class Holding:
    """The containers of one contender on the board.

    Attributes:
        counts: Containers by node; no zeros.
        devices: Their devices by node, as ascending positions.
        before, devices_before: The same when the board was laid out: what the app would keep.
        share: Weighted dominant share of all its containers.
        share_less: The same with one container less.
    """

    contender: Contender
    demand: Resources
    min: int
    max: int
    size: int = 0
    share: Fraction = Fraction(0)
    share_less: Fraction = Fraction(0)
    counts: dict[str, int] = attrs.field(factory=dict)
    devices: dict[str, list[int]] = attrs.field(factory=dict)
    before: dict[str, int] = attrs.field(factory=dict)
    devices_before: dict[str, list[int]] = attrs.field(factory=dict)

    @property
    def surplus(self) -> int:
        """Return how many containers it has above its minimum."""
        return self.size - self.min

    @property
    def is_disturbed(self) -> bool:
        """Return whether its containers have to restart anyway."""
        return self.counts != self.before

    @property
    def precedence(self) -> tuple[Fraction, int]:
        """Return the sort key of progressive filling: the poorest first, then the oldest."""
        return self.share, self.contender.order

    def resize(self, step: int) -> None:
        """Grow or shrink by one container, and work out the shares anew."""
        self.size += step
        self.share_less = self.contender.unit * (self.size - 1)
        self.share = self.share_less + self.contender.unit


@attrs.define(eq=False)
class _Move:
    holding: Holding
    room: Room
    devices: list[int]
    is_added: bool


@attrs.define(eq=False)
class Board:
    """All rooms by node id, all holdings by app id, and a journal by which moves are taken back."""

    rooms: dict[str, Room]
    holdings: dict[str, Holding]
    journal: list[_Move] = attrs.field(factory=list)

    def add(self, holding: Holding, room: Room, devices: list[int] | None = None) -> None:
        """Put one container into a room that has a place for it.

        Without `devices` it gets devices that the app had before, then the first free ones.
        """
        move = _Move(holding, room, devices or _choose(holding, room), is_added=True)
        _add(move)
        self.journal.append(move)

    def remove(self, holding: Holding, room: Room) -> None:
        """Take one of the app's containers out of a room that has one."""
        owned, gpus = holding.devices.get(room.node_id, []), holding.demand.gpu_count
        move = _Move(holding, room, owned[len(owned) - gpus :], is_added=False)
        _remove(move)
        self.journal.append(move)

    def release(self, holding: Holding) -> None:
        """Take all of the app's containers off the board."""
        for node_id in list(holding.counts):
            for _ in range(holding.counts[node_id]):
                self.remove(holding, self.rooms[node_id])

    def rollback(self, mark: int) -> None:
        """Undo every move after the journal had `mark` entries."""
        while len(self.journal) > mark:  # One entry less each turn.
            move = self.journal.pop()
            if move.is_added:
                _remove(move)
            else:
                _add(move)

    def partition_of(self, holding: Holding) -> Partition:
        """Return the app's containers as a partition, nodes sorted."""
        return {
            node_id: Slots(
                count=count,
                devices=tuple(
                    self.rooms[node_id].uuids[device] for device in holding.devices.get(node_id, ())
                ),
            )
            for node_id, count in sorted(holding.counts.items())
        }


def _choose(holding: Holding, room: Room) -> list[int]:
    gpus = holding.demand.gpu_count
    if not gpus:
        return []
    own = holding.devices_before.get(room.node_id, [])
    return sorted(room.devices, key=lambda device: (device not in own, device))[:gpus]


def _add(move: _Move) -> None:
    holding, room = move.holding, move.room
    room.take(holding.demand, move.devices)
    room.guests[holding.contender.app_id] = None
    holding.counts[room.node_id] = holding.counts.get(room.node_id, 0) + 1
    owned = holding.devices.setdefault(room.node_id, [])
    for device in move.devices:
        insort(owned, device)
    holding.resize(1)


def _remove(move: _Move) -> None:
    holding, room = move.holding, move.room
    room.give_back(holding.demand, move.devices)
    owned = holding.devices[room.node_id]
    for device in move.devices:
        owned.remove(device)
    holding.counts[room.node_id] -= 1
    if not holding.counts[room.node_id]:
        del holding.counts[room.node_id], holding.devices[room.node_id]
        del room.guests[holding.contender.app_id]
    holding.resize(-1)
