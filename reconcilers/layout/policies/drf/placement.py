"""Where a container goes, and who would have to give way for it."""

from collections.abc import Iterator
from typing import Final

import attrs

from events.units import Resources
from reconcilers.layout.policies.drf.board import ELASTIC, Board, Holding, Key, Richness
from reconcilers.layout.policies.rooms import Room

ANY_SHARE: Final = -1
"""As the share in a floor of `make_way`: every container above a minimum may be taken."""


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
    it, and those behind the best way so far are not visited at all.
    """
    donors = {
        holding.app.app_id: holding
        for holding in sorted(board.holdings.values(), key=_richness_less, reverse=True)
        if _may_give(holding, taker, floor)
    }
    demand, seen = taker.demand_of(key), dict[str, None]()
    best, best_rank = None, None
    for donor in donors.values():
        if best_rank is not None and _richness_less(donor) < best_rank[-1]:
            break
        for node_id in donor.counts[ELASTIC]:
            if node_id in seen:
                continue
            seen[node_id] = None
            room = board.rooms.by_id[node_id]
            givers = _givers(demand, room, [donors[a] for a in room.guests if a in donors], floor)
            if not givers:
                continue
            poorest = _poorest_after(givers)
            rank = (_negative(poorest), _newly_disturbed(givers), len(givers), node_id, poorest)
            if best_rank is None or rank < best_rank:
                best, best_rank = Way(room, givers), rank
    return best


def _richness_less(holding: Holding) -> Richness:
    return holding.richness(1)


def _may_give(holding: Holding, taker: Holding, floor: Richness) -> bool:
    return (
        holding.surplus > 0
        and not holding.rests
        and holding.richness(1) > floor
        and holding is not taker
    )


def _negative(richness: Richness) -> Richness:
    return -richness[0], -richness[1]


def _missing(demand: Resources, room: Room) -> Resources:
    """Return what the room lacks for one container: zero where nothing is missing."""
    return Resources(
        cpu_milli=max(0, demand.cpu_milli - room.cpu_milli) if demand.cpu_milli > 0 else 0,
        memory_bytes=max(0, demand.memory_bytes - room.memory_bytes)
        if demand.memory_bytes > 0
        else 0,
        gpu_count=max(0, demand.gpu_count - room.gpu_count),
    )


def _less(missing: Resources, demand: Resources) -> Resources:
    return Resources(
        cpu_milli=max(0, missing.cpu_milli - demand.cpu_milli),
        memory_bytes=max(0, missing.memory_bytes - demand.memory_bytes),
        gpu_count=max(0, missing.gpu_count - demand.gpu_count),
    )


def _helps(missing: Resources, demand: Resources) -> bool:
    return (
        (missing.cpu_milli > 0 and demand.cpu_milli > 0)
        or (missing.memory_bytes > 0 and demand.memory_bytes > 0)
        or (missing.gpu_count > 0 and demand.gpu_count > 0)
    )


def _could_ever_fit(missing: Resources, room: Room, donors: list[Holding]) -> bool:
    """Return False when not even all that these donors may give would do. Cheap, in integers."""
    cpu, memory, gpus = missing.cpu_milli, missing.memory_bytes, missing.gpu_count
    for donor in donors:
        count = min(donor.surplus, donor.counts[ELASTIC][room.node_id])
        cpu -= count * donor.app.demand.cpu_milli
        memory -= count * donor.app.demand.memory_bytes
        gpus -= count * donor.app.demand.gpu_count
    return cpu <= 0 and memory <= 0 and gpus <= 0


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
    while missing != Resources():  # Each turn takes one container more, or gives up.
        able = [
            donor
            for donor in donors
            if _helps(missing, donor.app.demand) and _can_give(donor, room, givers, floor)
        ]
        if not able:
            return ()
        giver = max(able, key=lambda donor: _generosity(donor, givers))
        givers.append(giver)
        missing = _less(missing, giver.app.demand)
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
