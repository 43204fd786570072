"""Weighted dominant-resource fairness by progressive filling, starting from what is there.

First the minimums, each as a gang: applications that already hold a partition before those that
wait, older before younger, passing over what does not fit. Then containers one at a time to
the application with the smallest weighted dominant share: out of free room, and, while that makes
the poorest better off, out of the hands of richer applications. A size counts only when it has
places. Nothing moves except to let another application gain.

Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, algorithm 1; the exchange is what
progressive filling amounts to when a cluster is full already.
"""

import heapq
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import attrs

from events.layouts import Partition
from events.units import Resources
from reconcilers.layout.board import Board, Holding
from reconcilers.layout.claims import Partitions, lay_out
from reconcilers.layout.placement import ANY_SHARE, best_room, make_way
from reconcilers.layout.problem import Problem

EXCHANGES_MAX: Final = 20_000  # a round ends even so; the next one goes on from there


def improve(problem: Problem, current: Partitions) -> dict[str, Partition]:
    """Return the partitions of contenders and held apps after one round of filling."""
    board, held = lay_out(problem, current)
    kept = {app_id for app_id in board.holdings if current[app_id]}
    settle_minimums(board, kept)
    grow(board)
    while balance(board):  # Each exchange makes the sorted shares larger, so there is a last one.
        grow(board)
    return held | {
        app_id: board.partition_of(holding) for app_id, holding in board.holdings.items()
    }


def standing(problem: Problem, partitions: Mapping[str, Partition]) -> list[Fraction]:
    """Return the contenders' weighted dominant shares, the poorest first.

    Of two layouts the fairer one has the greater list: it lifts the poorest, then the next.
    """
    return sorted(
        contender.unit * sum(slots.count for slots in partitions[contender.app_id].values())
        for contender in problem.contenders
    )


def settle_minimums(board: Board, kept: set[str]) -> None:
    """Bring every application to its minimum or to nothing; those in `kept` come first."""
    hopeless = Hopeless()
    holders = [holding for app_id, holding in board.holdings.items() if app_id in kept]
    waiting = [holding for app_id, holding in board.holdings.items() if app_id not in kept]
    for holding in (*holders, *waiting):
        if holding.surplus >= 0 or hopeless.covers(holding.demand, -holding.surplus):
            continue
        missing = -holding.surplus
        if add_up_to(board, holding, missing) < missing:
            hopeless.add(holding.demand, missing)
    for holding in board.holdings.values():
        if holding.surplus < 0:
            board.release(holding)


def add_up_to(board: Board, holding: Holding, wanted: int) -> int:
    """Add `wanted` containers of a gang, or none; return how many would have found a place."""
    mark = len(board.journal)
    for added in range(wanted):
        if not _add(board, holding, ANY_SHARE, wanted=wanted - added):
            board.rollback(mark)
            return added
    return wanted


def grow(board: Board) -> None:
    """Hand out free room, one container at a time, always to the poorest that can take it."""
    hopeless = Hopeless()
    heap = [
        (holding.precedence, holding.contender.app_id)
        for holding in board.holdings.values()
        if 0 < holding.size < holding.max
    ]
    heapq.heapify(heap)
    while heap:  # Each turn adds one container or retires one application.
        holding = board.holdings[heapq.heappop(heap)[1]]
        if hopeless.covers(holding.demand, 1):
            continue
        if not _add_free(board, holding):
            hopeless.add(holding.demand, 1)
        elif holding.size < holding.max:
            heapq.heappush(heap, (holding.precedence, holding.contender.app_id))


def balance(board: Board) -> bool:
    """Move containers from the rich to the poor; return whether any was moved.

    An exchange is made only if whoever gives keeps more than the taker had before.
    """
    for made in range(EXCHANGES_MAX):
        if not _exchange_for_the_poorest(board):
            return made > 0
    return True


def _exchange_for_the_poorest(board: Board) -> bool:
    hopeless = Hopeless()
    takers = sorted(board.holdings.values(), key=lambda holding: holding.precedence)
    for taker in takers:
        if not 0 < taker.size < taker.max or hopeless.covers(taker.demand, 1):
            continue
        if _add(board, taker, taker.share):
            return True
        hopeless.add(taker.demand, 1)  # For richer takers still less may be taken.
    return False


def _add(board: Board, holding: Holding, floor: Fraction, *, wanted: int = 1) -> bool:
    return _add_free(board, holding, wanted=wanted) or _add_by_exchange(board, holding, floor)


def _add_free(board: Board, holding: Holding, *, wanted: int = 1) -> bool:
    room = best_room(board, holding, wanted=wanted)
    if room is not None:
        board.add(holding, room)
    return room is not None


def _add_by_exchange(board: Board, taker: Holding, floor: Fraction) -> bool:
    way = make_way(board, taker, floor)
    if way is None:
        return False
    for giver in way.givers:
        board.remove(giver, way.room)
    board.add(taker, way.room)
    return True


@attrs.define
class Hopeless:
    """Gangs that found no place, so that nobody as large or larger has to be tried."""

    failed: list[tuple[Resources, int]] = attrs.field(factory=list)

    def add(self, demand: Resources, count: int) -> None:
        """Remember a gang that found no place."""
        self.failed.append((demand, count))

    def covers(self, demand: Resources, count: int) -> bool:
        """Return whether a gang no larger in any respect was tried before."""
        return any(
            count >= failed_count
            and demand.cpu_milli >= failed.cpu_milli
            and demand.memory_bytes >= failed.memory_bytes
            and demand.gpu_count >= failed.gpu_count
            for failed, failed_count in self.failed
        )
