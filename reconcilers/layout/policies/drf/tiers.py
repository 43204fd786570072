"""Preemption: a lower tier gives up whole applications for the minimum of a higher one."""

from reconcilers.layout.policies.drf.board import Board, Holding
from reconcilers.layout.policies.drf.gangs import add_gang


def preempt(board: Board, taker: Holding) -> bool:
    """Place the minimum of `taker` in the room of applications of lower tiers; or change nothing.

    The lowest tier gives first, and in it the youngest; only as many as it takes. Those of them
    whose places stayed free have them back at once; the others get their turn with their tier.
    """
    victims = sorted(
        (one for one in board.holdings.values() if one.size and _is_lower(one, taker)),
        key=lambda one: (one.app.priority, -one.order),
    )
    count = _fewest(board, taker, victims)
    if not count:
        return False
    _release_and_add(board, taker, victims[:count])
    for victim in reversed(victims[:count]):
        _restore(board, victim)
    return True


def _is_lower(one: Holding, taker: Holding) -> bool:
    return one.app.priority < taker.app.priority


def _fewest(board: Board, taker: Holding, victims: list[Holding]) -> int:
    """Return how many victims are enough, found by bisection; 0 when not even all are."""
    few, many = 0, len(victims)
    if not many or not _would_do(board, taker, victims):
        return 0
    while many - few > 1:  # Halves each turn; `many` are always enough.
        middle = (few + many) // 2
        if _would_do(board, taker, victims[:middle]):
            many = middle
        else:
            few = middle
    return many


def _would_do(board: Board, taker: Holding, victims: list[Holding]) -> bool:
    mark = len(board.journal)
    done = _release_and_add(board, taker, victims)
    board.rollback(mark)
    return done


def _release_and_add(board: Board, taker: Holding, victims: list[Holding]) -> bool:
    for victim in victims:
        board.release(victim)
    return add_gang(board, taker)


def _restore(board: Board, victim: Holding) -> None:
    """Put a released application back where it was, if all of that is still free."""
    mark = len(board.journal)
    for key, counts in victim.before.items():
        demand = victim.demand_of(key)
        for node_id, count in counts.items():
            room = board.rooms.by_id[node_id]
            if room.places(demand) < count:
                board.rollback(mark)
                victim.rests = False  # It has to move in any case, and may as well find its size.
                return
            board.move(victim, room, key, step=count)
