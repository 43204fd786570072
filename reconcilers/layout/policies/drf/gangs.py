"""Containers onto the board: one at a time, or a whole gang, or nothing."""

import attrs

from events.units import Resources
from reconcilers.layout.policies.drf.board import ELASTIC, Board, Holding, Key, Richness
from reconcilers.layout.policies.drf.placement import ANY_SHARE, Way, best_room, make_way


def add_gang(board: Board, holding: Holding) -> bool:
    """Bring an application to its minimum, its fixed roles first; or leave it as it is."""
    mark = len(board.journal)
    for role in holding.app.roles:
        wanted = holding.missing(role)
        if add_up_to(board, holding, wanted, role.name) < wanted:
            board.rollback(mark)
            return False
    if add_up_to(board, holding, -holding.surplus) < -holding.surplus:
        board.rollback(mark)
        return False
    return True


def add_up_to(board: Board, holding: Holding, wanted: int, key: Key = ELASTIC) -> int:
    """Add `wanted` containers, or none; return how many would have found a place."""
    mark = len(board.journal)
    for added in range(wanted):
        if not _add(board, holding, key, wanted - added):
            board.rollback(mark)
            return added
    return wanted


def _add(board: Board, holding: Holding, key: Key, wanted: int) -> bool:
    floor = (-holding.app.priority, ANY_SHARE)
    return (
        add_free(board, holding, key, wanted=wanted)
        or add_by_exchange(board, holding, floor, key) is not None
    )


def add_free(board: Board, holding: Holding, key: Key = ELASTIC, *, wanted: int = 1) -> bool:
    """Add one container out of free room; return whether there was any."""
    room = best_room(board, holding, key, wanted=wanted)
    if room is not None:
        board.move(holding, room, key)
    return room is not None


def add_by_exchange(
    board: Board, taker: Holding, floor: Richness, key: Key = ELASTIC
) -> Way | None:
    """Add one container in the room that others give up; return how, or None."""
    way = make_way(board, taker, floor, key)
    if way is not None:
        for giver in way.givers:
            board.move(giver, way.room, step=-1)
        board.move(taker, way.room, key)
    return way


@attrs.define
class Hopeless:
    """Gangs that found no place, so that nobody as large or larger has to be tried.

    Only the smallest are kept. A gang with fixed roles may have failed for them, so it says
    nothing about others.
    """

    failed: list[tuple[Resources, int]] = attrs.field(factory=list)

    def add(self, holding: Holding) -> None:
        """Remember an application that found no place for its next containers."""
        if any(holding.missing(role) for role in holding.app.roles):
            return
        new = (holding.app.demand, _wanted(holding))
        self.failed = [old for old in self.failed if not _is_as_large(old, new)]
        self.failed.append(new)

    def covers(self, holding: Holding) -> bool:
        """Return whether a gang no larger in any respect was tried before."""
        asked = (holding.app.demand, _wanted(holding))
        return any(_is_as_large(asked, old) for old in self.failed)


def _wanted(holding: Holding) -> int:
    return max(1, -holding.surplus)


def _is_as_large(one: tuple[Resources, int], other: tuple[Resources, int]) -> bool:
    demand, low = one[0], other[0]
    return (
        one[1] >= other[1]
        and demand.cpu_milli >= low.cpu_milli
        and demand.memory_bytes >= low.memory_bytes
        and demand.gpu_count >= low.gpu_count
    )
