"""What a layout comes to: who is touched, what limits whom, and what it is worth.

For the policies that have no solver. Their worth is the utilization: the sum over resources of the
part of the cluster that is granted, so 3 is a cluster that is full in all respects.
"""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

import attrs

from events.units import Resources, total_of
from reconcilers.layout.decision import Decision, Limit, Verdict
from reconcilers.layout.policies.rooms import Rooms
from reconcilers.layout.snapshot import AppRequest, Snapshot

FIELDS: Final = {"cpu": "cpu_milli", "memory": "memory_bytes", "gpu": "gpu_count"}

Placements = Mapping[str, Mapping[str, int]]
RolePlacements = Mapping[str, Mapping[str, Mapping[str, int]]]


@attrs.frozen(kw_only=True)
class Layout:
    """Elastic containers by app and node; fixed ones by app, role and node. No zeros."""

    placements: Placements
    role_placements: RolePlacements


def conclude(
    snapshot: Snapshot, layout: Layout, fair: Mapping[str, float], *, version: str
) -> Decision:
    """Return the decision for a layout.

    Args:
        snapshot: What it was made from.
        layout: Who has what, where.
        fair: By app id, the containers that the policy holds to be due to it.
        version: Of the policy.
    """
    objective, bound = _utilization(snapshot, layout), _most(snapshot)
    return Decision(
        placements=layout.placements,
        role_placements=layout.role_placements,
        objective=objective,
        bound=bound,
        gap=(bound - objective) / bound if bound else 0.0,
        touched=tuple(sorted(app.app_id for app in snapshot.apps if _is_touched(app, layout))),
        released=tuple(sorted(app.app_id for app in snapshot.apps if _is_released(app, layout))),
        verdicts=_verdicts(snapshot, layout, fair),
        version=version,
    )


def amount_of(app: AppRequest, size: int) -> Resources:
    """Return what an application uses at a size, its fixed roles included; nothing at size 0."""
    if not size:
        return Resources()
    return app.demand * size + total_of(role.demand * role.count for role in app.roles)


def size_in(layout: Layout, app_id: str) -> int:
    """Return how many elastic containers an application has in a layout."""
    return sum(layout.placements.get(app_id, {}).values())


def _is_touched(app: AppRequest, layout: Layout) -> bool:
    after = layout.placements.get(app.app_id, {})
    if not app.placement or not after:
        return False
    roles = layout.role_placements.get(app.app_id, {})
    return dict(app.placement) != after or _plain(app.role_placement) != _plain(roles)


def _is_released(app: AppRequest, layout: Layout) -> bool:
    return bool(app.placement) and not layout.placements.get(app.app_id)


def _plain(roles: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: dict(nodes) for name, nodes in roles.items() if nodes}


def _fractions(amount: Resources, total: Resources) -> Iterator[float]:
    for name in FIELDS.values():
        if have := getattr(total, name):
            yield getattr(amount, name) / have


def _utilization(snapshot: Snapshot, layout: Layout) -> float:
    total = total_of(node.capacity for node in snapshot.nodes)
    used = total_of(amount_of(app, size_in(layout, app.app_id)) for app in snapshot.apps)
    return math.fsum(_fractions(used, total))


def _most(snapshot: Snapshot) -> float:
    """Return what no layout can exceed: all that is there, or all that is asked for."""
    total = total_of(node.capacity for node in snapshot.nodes)
    room = total_of(node.room for node in snapshot.nodes)
    asked = total_of(amount_of(app, app.max) for app in snapshot.apps)
    least = {name: min(getattr(room, name), getattr(asked, name)) for name in FIELDS.values()}
    return math.fsum(_fractions(Resources(**least), total))


def _verdicts(snapshot: Snapshot, layout: Layout, fair: Mapping[str, float]) -> dict[str, Verdict]:
    rooms = Rooms.of(snapshot.nodes, snapshot.apps)
    for app in snapshot.apps:
        kinds = [(app.demand, layout.placements.get(app.app_id, {}))]
        roles = layout.role_placements.get(app.app_id, {})
        kinds += [(role.demand, roles.get(role.name, {})) for role in app.roles]
        for demand, nodes in kinds:
            for node_id, count in nodes.items():
                rooms.take(rooms.by_id[node_id], demand, count)
    judge = _Judge(snapshot, rooms)
    return {
        app.app_id: judge.verdict(app, size_in(layout, app.app_id), fair[app.app_id])
        for app in snapshot.apps
    }


@attrs.define
class _Judge:
    """What limits each application, in a layout whose free rooms are known."""

    snapshot: Snapshot
    rooms: Rooms
    free: Resources = attrs.field(init=False)
    room: Resources = attrs.field(init=False)
    places: dict[Resources, int] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Sum up what is free, and what there is."""
        self.free = total_of(room.free for room in self.rooms.by_id.values())
        self.room = total_of(node.room for node in self.snapshot.nodes)

    def verdict(self, app: AppRequest, size: int, fair: float) -> Verdict:
        """Return what one application got, and what limits it."""
        limit, resource = self._limit(app, size)
        return Verdict(containers=size, fair_containers=fair, limit=limit, resource=resource)

    def _limit(self, app: AppRequest, size: int) -> tuple[Limit, str]:
        if not size:
            return self._why_waiting(app), ""
        if size >= app.max:
            return Limit.AT_MAX, ""
        if not any(True for _ in self.rooms.signatures(app.demand)):
            return Limit.RESOURCE, self._scarcest(app.demand)
        if app.placement and self.snapshot.options.rests(app):
            return Limit.RESTS, ""
        return Limit.FAIR_SHARE, ""

    def _why_waiting(self, app: AppRequest) -> Limit:
        if self._places(app.demand) < app.min:
            return Limit.TOO_LARGE
        wanted = amount_of(app, app.min)
        return Limit.FRAGMENTED if wanted.fits_in(self.free) else Limit.NOT_DUE

    def _places(self, demand: Resources) -> int:
        """Return how many such containers the empty cluster takes."""
        if demand not in self.places:
            self.places[demand] = sum(demand.times_in(node.room) for node in self.snapshot.nodes)
        return self.places[demand]

    def _scarcest(self, demand: Resources) -> str:
        """Return the resource asked for of which the smallest part is free."""

        def part_free(name: str) -> Fraction:
            have = getattr(self.room, FIELDS[name])
            return Fraction(getattr(self.free, FIELDS[name]), have) if have else Fraction(0)

        asked = [name for name, field in FIELDS.items() if getattr(demand, field) > 0]
        return min(asked, key=part_free)
