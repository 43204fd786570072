"""What a layout comes to: who is touched, what limits whom, and what it is worth.

For the policies that have no solver. Their worth is the utilization: the sum over resources of the
part of the cluster that is granted, so 3 is a cluster that is full in all respects.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Final

import attrs

from events.units import Resources
from reconcilers.layout.decision import Decision, Limit, Verdict
from reconcilers.layout.policies.rooms import Rooms
from reconcilers.layout.snapshot import AppRequest, Snapshot
from reconcilers.layout.sums import total

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
    sizes = {app.app_id: size_in(layout, app.app_id) for app in snapshot.apps}
    capacity = total((node.capacity, 1) for node in snapshot.nodes)
    objective, bound = _utilization(snapshot, sizes, capacity), _most(snapshot, capacity)
    return Decision(
        placements=layout.placements,
        role_placements=layout.role_placements,
        objective=objective,
        bound=bound,
        gap=(bound - objective) / bound if bound else 0.0,
        touched=tuple(sorted(app.app_id for app in snapshot.apps if _is_touched(app, layout))),
        released=tuple(sorted(app.app_id for app in snapshot.apps if _is_released(app, layout))),
        verdicts=_verdicts(snapshot, layout, sizes, fair),
        version=version,
    )


def size_in(layout: Layout, app_id: str) -> int:
    """Return how many elastic containers an application has in a layout."""
    return sum(layout.placements.get(app_id, {}).values())


def _amounts(app: AppRequest, size: int) -> Iterator[tuple[Resources, int]]:
    """Yield what an application uses at a size, its fixed roles included; nothing at size 0."""
    if size:
        yield app.demand, size
        for role in app.roles:
            yield role.demand, role.count


def _is_touched(app: AppRequest, layout: Layout) -> bool:
    after = layout.placements.get(app.app_id, {})
    if not app.placement or not after:
        return False
    roles = layout.role_placements.get(app.app_id, {})
    return app.placement != after or _plain(app.role_placement) != _plain(roles)


def _is_released(app: AppRequest, layout: Layout) -> bool:
    return bool(app.placement) and not layout.placements.get(app.app_id)


def _plain(roles: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    return {name: nodes for name, nodes in roles.items() if nodes} if roles else roles


def _fractions(amount: Resources, capacity: Resources) -> Iterator[float]:
    for name in FIELDS.values():
        if have := getattr(capacity, name):
            yield getattr(amount, name) / have


def _utilization(snapshot: Snapshot, sizes: Mapping[str, int], capacity: Resources) -> float:
    used = total(part for app in snapshot.apps for part in _amounts(app, sizes[app.app_id]))
    return math.fsum(_fractions(used, capacity))


def _most(snapshot: Snapshot, capacity: Resources) -> float:
    """Return what no layout can exceed: all that is there, or all that is asked for."""
    asked = total(part for app in snapshot.apps for part in _amounts(app, app.max))
    least = {
        # A node that is short of something lends nothing; it takes nothing from the others either.
        name: min(
            sum(max(0, getattr(node.room, name)) for node in snapshot.nodes), getattr(asked, name)
        )
        for name in FIELDS.values()
    }
    return math.fsum(_fractions(Resources(**least), capacity))


def _verdicts(
    snapshot: Snapshot, layout: Layout, sizes: Mapping[str, int], fair: Mapping[str, float]
) -> dict[str, Verdict]:
    rooms = Rooms.of(snapshot.nodes, snapshot.apps)
    for app in snapshot.apps:
        for demand, nodes in _parts(app, layout):
            for node_id, count in nodes.items():
                rooms.take(rooms.by_id[node_id], demand, count)
    judge = _Judge(snapshot, rooms)
    return {
        app.app_id: judge.verdict(app, sizes[app.app_id], fair[app.app_id]) for app in snapshot.apps
    }


def _parts(app: AppRequest, layout: Layout) -> Iterator[tuple[Resources, Mapping[str, int]]]:
    yield app.demand, layout.placements.get(app.app_id, {})
    for role in app.roles:
        yield role.demand, layout.role_placements.get(app.app_id, {}).get(role.name, {})


@attrs.define
class _Judge:
    """What limits each application, in a layout whose free rooms are known.

    Attributes:
        shapes: The rooms of the empty nodes, and how many nodes have each.
        places: How many containers of a demand the empty cluster takes.
        scarce: Which resource keeps one more container of a demand out; empty if none does.
    """

    snapshot: Snapshot
    rooms: Rooms
    free: Resources = attrs.field(init=False)
    room: Resources = attrs.field(init=False)
    shapes: Mapping[Resources, int] = attrs.field(init=False)
    places: dict[Resources, int] = attrs.field(factory=dict)
    scarce: dict[Resources, str] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Sum up what is free, and what there is."""
        self.free = total((room.free, 1) for room in self.rooms.by_id.values())
        self.shapes = Counter(node.room for node in self.snapshot.nodes)
        self.room = total(self.shapes.items())

    def verdict(self, app: AppRequest, size: int, fair: float) -> Verdict:
        """Return what one application got, and what limits it."""
        limit, resource = self._limit(app, size)
        return Verdict(containers=size, fair_containers=fair, limit=limit, resource=resource)

    def _limit(self, app: AppRequest, size: int) -> tuple[Limit, str]:
        if not size:
            return self._why_waiting(app), ""
        if size >= app.max:
            return Limit.AT_MAX, ""
        if scarce := self._scarce(app.demand):
            return Limit.RESOURCE, scarce
        if app.placement and self.snapshot.options.rests(app):
            return Limit.RESTS, ""
        return Limit.FAIR_SHARE, ""

    def _why_waiting(self, app: AppRequest) -> Limit:
        if self._places(app.demand) < app.min:
            return Limit.TOO_LARGE
        wanted = total(_amounts(app, app.min))
        return Limit.FRAGMENTED if wanted.fits_in(self.free) else Limit.NOT_DUE

    def _places(self, demand: Resources) -> int:
        """Return how many such containers the empty cluster takes."""
        if demand not in self.places:
            each = ((demand.times_in(room), nodes) for room, nodes in self.shapes.items())
            self.places[demand] = sum(places * nodes for places, nodes in each)
        return self.places[demand]

    def _scarce(self, demand: Resources) -> str:
        """Return the resource that is full for a demand; nothing while one more container fits."""
        if demand not in self.scarce:
            fits = any(True for _ in self.rooms.signatures(demand))
            self.scarce[demand] = "" if fits else self._scarcest(demand)
        return self.scarce[demand]

    def _scarcest(self, demand: Resources) -> str:
        """Return the resource asked for of which the smallest part is free."""

        def part_free(name: str) -> Fraction:
            have = getattr(self.room, FIELDS[name])
            return Fraction(getattr(self.free, FIELDS[name]), have) if have else Fraction(0)

        asked = [name for name, field in FIELDS.items() if getattr(demand, field) > 0]
        return min(asked, key=part_free)
