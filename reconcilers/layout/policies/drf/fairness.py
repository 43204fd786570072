"""Weighted dominant-resource fairness by progressive filling, starting from what is there.

First the minimums, each as a gang: applications that already hold a partition before those that
wait, older before younger, passing over what does not fit. Then containers one at a time to
the application with the smallest weighted dominant share: out of free room, and, while that makes
the poorest better off, out of the hands of richer applications. A size counts only when it has
places. Nothing moves except to let another application gain.

Whoever is of a higher tier comes first in each of these steps, and may take everything from a
lower one for its minimum (`tiers`), and everything above the minimums for its growth.

Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, algorithm 1; the exchange is what
progressive filling amounts to when a cluster is full already.
"""

import heapq
from typing import Final

from reconcilers.layout.policies.drf.board import Board, Holding
from reconcilers.layout.policies.drf.gangs import Hopeless, add_by_exchange, add_free, add_gang
from reconcilers.layout.policies.drf.tiers import preempt

EXCHANGES_MAX: Final = 20_000  # a round ends even so; the next one goes on from there

Heap = list[tuple[tuple[tuple[int, int], int], str]]


def improve(board: Board) -> None:
    """Fill the board for one round."""
    settle_minimums(board)
    grow(board)
    while balance(board):  # Each exchange makes the sorted shares larger, so there is a last one.
        grow(board)


def settle_minimums(board: Board) -> None:
    """Bring every application to its minimum or to nothing, tier by tier."""
    tiers = sorted({holding.app.priority for holding in board.holdings.values()}, reverse=True)
    for tier in tiers:
        members = [one for one in board.holdings.values() if one.app.priority == tier]
        kept = [one for one in members if one.app.placement or one.app.is_evicted]
        waiting = [one for one in members if not (one.app.placement or one.app.is_evicted)]
        hopeless = Hopeless()
        for holding in (*kept, *waiting):
            if holding.is_complete or hopeless.covers(holding):
                continue
            if not add_gang(board, holding) and not preempt(board, holding):
                hopeless.add(holding)
    for holding in board.holdings.values():
        if not holding.is_complete:
            board.release(holding)


def grow(board: Board) -> None:
    """Hand out free room, one container at a time, always to the poorest that can take it."""
    hopeless = Hopeless()
    heap = _heap(board)
    while heap:  # Each turn adds one container or retires one application.
        holding = board.holdings[heapq.heappop(heap)[1]]
        if hopeless.covers(holding):
            continue
        if not add_free(board, holding):
            hopeless.add(holding)
        else:
            _push(heap, holding)


def balance(board: Board) -> bool:
    """Move containers from the rich to the poor; return whether any was moved.

    An exchange is made only if whoever gives keeps more than the taker had before.
    """
    hopeless, heap, made = Hopeless(), _heap(board), 0
    while heap and made < EXCHANGES_MAX:  # Each turn retires an entry, or makes an exchange.
        precedence, app_id = heapq.heappop(heap)
        taker = board.holdings[app_id]
        if precedence != taker.precedence or hopeless.covers(taker):
            continue  # An entry of before its last exchange; a newer one is in the heap.
        if add_free(board, taker):
            touched: tuple[Holding, ...] = ()
        elif (way := add_by_exchange(board, taker, taker.richness())) is not None:
            touched = way.givers
        else:
            hopeless.add(taker)  # For richer takers still less may be taken.
            continue
        made += 1
        for holding in (taker, *touched):
            _push(heap, holding)
    return made > 0


def _heap(board: Board) -> Heap:
    heap: Heap = []
    for holding in board.holdings.values():
        _push(heap, holding)
    return heap


def _push(heap: Heap, holding: Holding) -> None:
    """Queue an application that may grow: it runs, is below its maximum, and does not rest."""
    if 0 < holding.size < holding.app.max and not holding.rests:
        heapq.heappush(heap, (holding.precedence, holding.app.app_id))
