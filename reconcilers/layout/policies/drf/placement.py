"""Where a container goes, and who would have to give way for it."""

from collections.abc import Iterator
from typing import Final

import attrs

from events.units import Resources
from reconcilers.layout.policies.drf.board import ELASTIC, Board, Holding, Key, Richness
from reconcilers.layout.policies.rooms import Room

ANY_SHARE: Final = -1
"""As the share in a floor of `make_way`: every container above a minimum may be taken."""

ROOMS_MAX: Final = 100_000  # looked at on one board; the next decision goes on from there

Amounts = tuple[int, int, int]
"""Cpu in milli, memory in bytes, GPUs."""


def best_room(
    board: Board, holding: Holding, key: Key = ELASTIC, *, wanted: int = 1
) -> Room | None:
    """Return the room for the next of `wanted` containers, or None when there is none.

    First where the app was and no longer is, then where it is. Else the tightest room that takes
    all of them, or the widest when none does; a node with devices is spared by who needs none.
    """
    demand = holding.demand_of(key)
    homes = [room for room in _homes(board, holding, key) if room.places(demand)]
    if homes:
        return min(homes, key=lambda room: _home_rank(holding, key, room))
    best, best_rank = None, None
    for signature, places, node_id in board.rooms.signatures(demand):
        fits, spoils = places >= wanted, signature[0] and not demand.gpu_count
        rank = (spoils, not fits, places if fits else -places, node_id)
        if best_rank is None or rank < best_rank:
            best, best_rank = node_id, rank
    return None if best is None else board.rooms.by_id[best]


def _homes(board: Board, holding: Holding, key: Key) -> Iterator[Room]:
    for node_id in {**holding.before.get(key, {}), **holding.counts[key]}:
        yield board.rooms.by_id[node_id]


def _home_rank(holding: Holding, key: Key, room: Room) -> tuple[bool, int, str]:
    here, before = holding.counts[key].get(room.node_id, 0), holding.before.get(key, {})
    return here >= before.get(room.node_id, 0), -here, room.node_id


@attrs.frozen
class Way:
    """A room, and the containers that leave it so that another one fits."""

    room: Room
    givers: tuple[Holding, ...]


def make_way(board: Board, taker: Holding, floor: Richness, key: Key = ELASTIC) -> Way | None:
    """Return the fairest way to a place for one more container of `taker`, or None.

    Only containers above their app's minimum give way, and only while the giver stays richer
    than `floor`. Of all ways, the one that leaves its poorest giver richest; of equal ones, the
    one that disturbs the fewest apps anew, then the one with the fewest containers.

    The richest donor of a room bounds what any way there can be worth, so rooms are visited by
    it, and those behind the best way so far are not visited at all. Once a board was searched
    `ROOMS_MAX` times, nobody gives way on it any more: what is left to hand out is free room.
    """
    donors = _donors(board, taker, floor)
    demand, seen = taker.demand_of(key), dict[str, None]()
    best, best_rank = None, None
    for donor in donors.values():
        if best_rank is not None and donor.richness(1) < best_rank[-1]:
            break
        for node_id in donor.counts[ELASTIC]:
            if node_id in seen or board.searched >= ROOMS_MAX:
                continue
            seen[node_id] = None
            board.searched += 1
            room = board.rooms.by_id[node_id]
            givers = _givers(demand, room, [donors[a] for a in room.guests if a in donors], floor)
            if not givers:
                continue
            poorest = _poorest_after(givers)
            rank = (_negative(poorest), _newly_disturbed(givers), len(givers), node_id, poorest)
            if best_rank is None or rank < best_rank:
                best, best_rank = Way(room, givers), rank
    return best


def _donors(board: Board, taker: Holding, floor: Richness) -> dict[str, Holding]:
    """Return who may give a container to `taker`, by app id, the richest first."""
    if board.searched >= ROOMS_MAX:
        return {}
    able = [
        (holding.richness(1), holding)
        for holding in board.holdings.values()
        if holding.size > holding.app.min and not holding.rests and holding is not taker
    ]
    able = [entry for entry in able if entry[0] > floor]
    able.sort(key=lambda entry: entry[0], reverse=True)
    return {holding.app.app_id: holding for _, holding in able}


def _negative(richness: Richness) -> Richness:
    return -richness[0], -richness[1]


def _missing(demand: Resources, room: Room) -> Amounts:
    """Return what the room lacks for one container: zero where nothing is missing."""
    return _rest(
        (demand.cpu_milli, demand.memory_bytes, demand.gpu_count),
        (room.cpu_milli, room.memory_bytes, room.gpu_count),
    )


def _rest(needed: Amounts, given: Amounts) -> Amounts:
    return max(0, needed[0] - given[0]), max(0, needed[1] - given[1]), max(0, needed[2] - given[2])


def _helps(missing: Amounts, demand: Resources) -> bool:
    cpu, memory, gpus = missing
    return (
        (cpu > 0 and demand.cpu_milli > 0)
        or (memory > 0 and demand.memory_bytes > 0)
        or (gpus > 0 and demand.gpu_count > 0)
    )


def _could_ever_fit(missing: Amounts, room: Room, donors: list[Holding]) -> bool:
    """Return False when not even all that these donors may give would do: the usual case."""
    cpu, memory, gpus = missing
    for donor in donors:
        demand = donor.app.demand
        count = min(donor.size - donor.app.min, donor.counts[ELASTIC][room.node_id])
        cpu -= count * demand.cpu_milli
        memory -= count * demand.memory_bytes
        gpus -= count * demand.gpu_count
        if cpu <= 0 and memory <= 0 and gpus <= 0:
            return True
    return not any(missing)


def _givers(
    demand: Resources, room: Room, donors: list[Holding], floor: Richness
) -> tuple[Holding, ...]:
    """Return who gives one container each (a name may come twice) so that one of `demand` fits.

    Nobody when there is no such way. It may be more than needed when the last gift is a large
    one; `grow` hands the rest out again.
    """
    missing, givers = _missing(demand, room), list[Holding]()
    if not _could_ever_fit(missing, room, donors):
        return ()
    while any(missing):  # Each turn takes one container more, or gives up.
        able = [
            donor
            for donor in donors
            if _helps(missing, donor.app.demand) and _can_give(donor, room, givers, floor)
        ]
        if not able:
            return ()
        giver = max(able, key=lambda donor: _generosity(donor, givers))
        givers.append(giver)
        gift = giver.app.demand
        missing = _rest(missing, (gift.cpu_milli, gift.memory_bytes, gift.gpu_count))
    return tuple(givers)


def _can_give(donor: Holding, room: Room, givers: list[Holding], floor: Richness) -> bool:
    given = givers.count(donor)
    return (
        given < min(donor.surplus, donor.counts[ELASTIC][room.node_id])
        and donor.richness(given + 1) > floor
    )


def _generosity(donor: Holding, givers: list[Holding]) -> tuple[Richness, bool, int]:
    """Return the sort key of giving: the richest, then who restarts anyway, then the youngest."""
    return donor.richness(givers.count(donor)), donor.is_disturbed, donor.order


def _poorest_after(givers: tuple[Holding, ...]) -> Richness:
    return min(giver.richness(givers.count(giver)) for giver in givers)


def _newly_disturbed(givers: tuple[Holding, ...]) -> int:
    return len({giver.order for giver in givers if not giver.is_disturbed})
