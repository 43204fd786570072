"""The table on which a layout is worked out: free room on each node, containers of each app.

Mutable on purpose: it lives within one call of `settle.drf`.
"""

from typing import Self

import attrs

from events.units import Resources
from reconcilers.layout.policies.drf.units import Units, units_of
from reconcilers.layout.policies.rooms import Room, Rooms, placed
from reconcilers.layout.snapshot import AppRequest, FixedRole, Options, Snapshot

Richness = tuple[int, int]
"""How well off an application is: first its tier, highest first, then its weighted share.

Whoever is of a higher tier counts as poorer, however much it has.
"""

Key = str
"""Which containers of an application: the name of a fixed role, or `ELASTIC`."""

ELASTIC: Key = ""


@attrs.define(kw_only=True, eq=False)
class Holding:
    """The containers of one application on the board.

    Attributes:
        order: Position in the order of submission.
        unit: Weighted dominant share of one elastic container; `fixed_unit` of all fixed roles
            together. Whole multiples of a fraction that all shares of the board have in common,
            so that they are compared exactly, and fast.
        size: Elastic containers in all.
        counts: Containers of each kind by node; no zeros. Equal to `before` as long as nothing of
            the application has moved.
        rests: It was changed a short while ago, so it neither gives nor takes.
    """

    app: AppRequest
    order: int
    unit: int
    fixed_unit: int
    size: int = 0
    counts: dict[Key, dict[str, int]]
    before: dict[Key, dict[str, int]] = attrs.field(factory=dict)
    rests: bool = False

    @property
    def surplus(self) -> int:
        """Return how many elastic containers it has above its minimum."""
        return self.size - self.app.min

    @property
    def is_complete(self) -> bool:
        """Return whether it can run: its minimum is there, and all of its fixed roles."""
        return self.surplus >= 0 and not any(self.missing(role) for role in self.app.roles)

    @property
    def is_disturbed(self) -> bool:
        """Return whether its containers have to restart anyway."""
        return self.counts != self.before

    @property
    def share(self) -> int:
        """Return its weighted dominant share, in the unit of the board."""
        return self.fixed_unit + self.unit * self.size if self.size else 0

    @property
    def precedence(self) -> tuple[Richness, int]:
        """Return the sort key of progressive filling: the poorest first, then the oldest."""
        return (-self.app.priority, self.share), self.order

    def richness(self, given: int = 0) -> Richness:
        """Return how well off it is, after giving away some containers."""
        return -self.app.priority, self.share - self.unit * given

    def missing(self, role: FixedRole) -> int:
        """Return how many containers of a fixed role have no place."""
        return role.count - sum(self.counts[role.name].values())

    def demand_of(self, key: Key) -> Resources:
        """Return the demand of one container of a kind."""
        if key == ELASTIC:
            return self.app.demand
        return next(role.demand for role in self.app.roles if role.name == key)


@attrs.define(eq=False)
class _Move:
    holding: Holding
    key: Key
    room: Room
    step: int


@attrs.define(eq=False)
class Board:
    """All rooms, all holdings by app id, and a journal by which moves are taken back.

    Attributes:
        searched: How many rooms were looked at for somebody who may give way.
    """

    rooms: Rooms
    holdings: dict[str, Holding]
    journal: list[_Move] = attrs.field(factory=list)
    searched: int = 0

    @classmethod
    def lay_out(cls, snapshot: Snapshot, units: Units | None = None) -> Self:
        """Return the board with every container of the snapshot's placements that can stand.

        Everything stands unless a placement is of another cluster than the nodes; then the older
        application comes first. What is above a maximum is taken away, from the nodes with the
        fewest containers first.

        Args:
            snapshot: What is there.
            units: Of its applications, when they are known already.
        """
        board = cls(
            Rooms.of(snapshot.nodes, snapshot.apps),
            _holdings(snapshot, units or units_of(snapshot)),
        )
        for holding in board.holdings.values():
            for key, placement in _placements(holding.app):
                for room, count in placed(board.rooms, placement, holding.demand_of(key)):
                    board.move(holding, room, key, step=count)
        for holding in board.holdings.values():
            board.trim(holding)
            holding.before = {key: dict(counts) for key, counts in holding.counts.items()}
            holding.rests = _rests(holding, snapshot.options)
        return board

    def move(self, holding: Holding, room: Room, key: Key = ELASTIC, *, step: int = 1) -> None:
        """Put containers into a room that has places for them, or take them out (negative)."""
        move = _Move(holding, key, room, step)
        self._apply(move, step)
        self.journal.append(move)

    def release(self, holding: Holding) -> None:
        """Take all of the app's containers off the board."""
        for key, counts in holding.counts.items():
            for node_id, count in tuple(counts.items()):
                self.move(holding, self.rooms.by_id[node_id], key, step=-count)

    def trim(self, holding: Holding) -> None:
        """Take away what is above the maximum."""
        counts = holding.counts[ELASTIC]
        while holding.size > holding.app.max:  # One container less each turn.
            node_id = min(counts, key=lambda node: (counts[node], node))
            self.move(holding, self.rooms.by_id[node_id], step=-1)

    def rollback(self, mark: int) -> None:
        """Undo every move after the journal had `mark` entries."""
        while len(self.journal) > mark:  # One entry less each turn.
            move = self.journal.pop()
            self._apply(move, -move.step)

    def _apply(self, move: _Move, step: int) -> None:
        holding, room = move.holding, move.room
        self.rooms.take(room, holding.demand_of(move.key), step)
        counts = holding.counts[move.key]
        left = counts.get(room.node_id, 0) + step
        if left:
            counts[room.node_id] = left
        else:
            del counts[room.node_id]
        if move.key != ELASTIC:
            return
        holding.size += step
        if left:
            room.guests[holding.app.app_id] = None
        else:
            del room.guests[holding.app.app_id]


def _holdings(snapshot: Snapshot, units: Units) -> dict[str, Holding]:
    return {
        app.app_id: Holding(
            app=app,
            order=order,
            unit=units[app.app_id][0],
            fixed_unit=units[app.app_id][1],
            counts={ELASTIC: {}, **{role.name: {} for role in app.roles}},
        )
        for order, app in enumerate(in_order(snapshot))
    }


def in_order(snapshot: Snapshot) -> list[AppRequest]:
    """Return the applications in order of submission; equally old ones as they stand."""
    return sorted(snapshot.apps, key=lambda app: app.submitted_ms)


def _placements(app: AppRequest) -> list[tuple[Key, dict[str, int]]]:
    roles = [(role.name, dict(app.role_placement.get(role.name, {}))) for role in app.roles]
    return [(ELASTIC, dict(app.placement)), *roles]


def _rests(holding: Holding, options: Options) -> bool:
    return (
        options.rests(holding.app)
        and not holding.app.is_evicted
        and holding.size > 0
        and holding.is_complete
        and holding.counts[ELASTIC] == dict(holding.app.placement)
    )
