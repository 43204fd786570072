"""Which of the containers that are granted today can stand.

Everything stands while nothing changed. When a node was lost or shrank, what runs comes before
what is only reserved, and that before what is only granted; then the older application first.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Self

import attrs

from events.generations import Member
from events.layouts import Partition, Slots
from events.nodes import NodeReported
from events.state import App
from events.units import Resources
from reconcilers.layout.problem import Problem

Group = tuple[str, ...]
"""The devices of one container; empty for one without."""


@attrs.frozen(kw_only=True)
class Standing:
    """What is left of the partitions in force.

    Attributes:
        kept: The containers of each contender by node, each as the group of its devices.
        held: The partitions of held applications: as they were, or empty.
        room: What contenders may use of each node, what they have there included.
        devices: The devices behind that room, in the node's order.
    """

    kept: Mapping[str, Mapping[str, tuple[Group, ...]]]
    held: Mapping[str, Partition]
    room: Mapping[str, Resources]
    devices: Mapping[str, tuple[str, ...]]


def stand(problem: Problem) -> Standing:
    """Return which containers can stand."""
    desks = {node_id: _Desk.of(report) for node_id, report in problem.nodes.items()}
    for app in problem.pinned:
        for member in _live(app):
            if desk := desks.get(member.node_id):
                desk.block(app.demand, member.devices)
    kept = {app.app_id: _Kept(app, desks) for app in problem.contenders}
    for claims in kept.values():
        claims.claim(Counter(member.node_id for member in _live(claims.app)))
    held = {app.app_id: _reserve(app, desks) for app in problem.held}
    for claims in kept.values():
        claims.claim({node_id: slots.count for node_id, slots in claims.app.partition.items()})
    for claims in kept.values():
        claims.trim()
    return Standing(
        kept={app_id: claims.groups() for app_id, claims in kept.items()},
        held=held,
        room={node_id: desk.room() for node_id, desk in desks.items()},
        devices={node_id: tuple(desk.devices) for node_id, desk in desks.items()},
    )


@attrs.define(eq=False)
class _Desk:
    """One node while its room is being claimed.

    Plain whole numbers instead of `Resources`: containers are claimed one by one.

    Attributes:
        cpu_milli, memory_bytes, devices: What pinned and held applications leave. It may be below
            zero on a node that shrank under what nobody can stop.
        cpu_claimed, memory_claimed, taken: The part of it that contenders have claimed.
    """

    cpu_milli: int
    memory_bytes: int
    devices: dict[str, None]
    cpu_claimed: int = 0
    memory_claimed: int = 0
    taken: dict[str, None] = attrs.field(factory=dict)

    @classmethod
    def of(cls, report: NodeReported) -> Self:
        capacity = report.capacity
        devices = dict.fromkeys(device.uuid for device in report.devices)
        return cls(capacity.cpu_milli, capacity.memory_bytes, devices)

    def block(self, amount: Resources, devices: Group) -> None:
        self.cpu_milli -= amount.cpu_milli
        self.memory_bytes -= amount.memory_bytes
        for uuid in devices:
            self.devices.pop(uuid, None)

    def has(self, amount: Resources, devices: Group) -> bool:
        """Return whether this much is free, and all of these devices."""
        cpu, memory = amount.cpu_milli, amount.memory_bytes
        return (
            (cpu <= 0 or cpu <= self.cpu_milli - self.cpu_claimed)
            and (memory <= 0 or memory <= self.memory_bytes - self.memory_claimed)
            and len(set(devices)) == len(devices) == amount.gpu_count
            and all(uuid in self.devices and uuid not in self.taken for uuid in devices)
        )

    def take(self, amount: Resources, devices: Group) -> None:
        self.cpu_claimed += amount.cpu_milli
        self.memory_claimed += amount.memory_bytes
        for uuid in devices:
            self.taken[uuid] = None

    def give_back(self, amount: Resources, devices: Group) -> None:
        self.cpu_claimed -= amount.cpu_milli
        self.memory_claimed -= amount.memory_bytes
        for uuid in devices:
            del self.taken[uuid]

    def room(self) -> Resources:
        return Resources(
            cpu_milli=max(0, self.cpu_milli),
            memory_bytes=max(0, self.memory_bytes),
            gpu_count=len(self.devices),
        )


@attrs.define(eq=False)
class _Kept:
    """What one contender keeps."""

    app: App
    desks: Mapping[str, _Desk]
    nodes: dict[str, list[Group]] = attrs.field(factory=dict)

    def claim(self, upto: Mapping[str, int]) -> None:
        """Claim containers of the partition, as many as stand, to at most `upto` on each node."""
        demand = self.app.demand
        for node_id, slots in sorted(self.app.partition.items()):
            desk, kept = self.desks.get(node_id), self.nodes.setdefault(node_id, [])
            wanted = min(upto.get(node_id, 0), slots.count)
            if desk is None or len(kept) >= wanted:
                continue
            for group in _groups(slots, demand.gpu_count):
                if len(kept) >= wanted:
                    break
                if desk.has(demand, group):
                    desk.take(demand, group)
                    kept.append(group)

    def trim(self) -> None:
        """Give back what is above the maximum, from the nodes with the fewest containers first."""
        for _ in range(sum(map(len, self.nodes.values())) - self.app.spec.scale.max):
            some = {node_id: groups for node_id, groups in self.nodes.items() if groups}
            node_id = min(some, key=lambda node: (len(some[node]), node))
            self.desks[node_id].give_back(self.app.demand, some[node_id].pop())

    def groups(self) -> dict[str, tuple[Group, ...]]:
        return {node: tuple(groups) for node, groups in sorted(self.nodes.items()) if groups}


def _reserve(app: App, desks: Mapping[str, _Desk]) -> Partition:
    """Return the partition when all of it can stand, and take its room; else nothing."""
    for node_id, slots in app.partition.items():
        desk = desks.get(node_id)
        if desk is None or not desk.has(app.demand * slots.count, slots.devices):
            return {}
    for node_id, slots in app.partition.items():
        desks[node_id].block(app.demand * slots.count, slots.devices)
    return app.partition


def _groups(slots: Slots, gpus: int) -> list[Group]:
    """Return the devices of each container, as they are dealt out when it starts."""
    return [slots.devices[index * gpus : (index + 1) * gpus] for index in range(slots.count)]


def _live(app: App) -> tuple[Member, ...]:
    return app.generation.live if app.generation else ()
