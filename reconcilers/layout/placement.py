"""Where a container goes, and who would have to give way for it."""

from fractions import Fraction

import attrs

from events.units import Resources
from reconcilers.layout.board import Board, Holding, Room

ANY_SHARE = Fraction(-1)
"""As the floor of `make_way`: every container above a minimum may be taken."""


def best_room(board: Board, holding: Holding, *, wanted: int = 1) -> Room | None:
    """Return the room for the next of `wanted` containers, or None when there is none.

    First where the app was and no longer is, then where it is. Else the tightest room that takes
    all of them, or the widest when none does; a node with devices is spared by who needs none.
    """
    homes = [board.rooms[node_id] for node_id in {**holding.before, **holding.counts}]
    homes = [room for room in homes if room.places(holding.demand)]
    if homes:
        return min(homes, key=lambda room: _home_rank(holding, room))
    best, best_rank = None, None
    for room in board.rooms.values():
        if not (places := room.places(holding.demand)):
            continue
        fits = places >= wanted
        spoils = bool(room.uuids) and not holding.demand.gpu_count
        rank = (spoils, not fits, places if fits else -places, room.node_id)
        if best_rank is None or rank < best_rank:
            best, best_rank = room, rank
    return best


def _home_rank(holding: Holding, room: Room) -> tuple[bool, int, str]:
    here = holding.counts.get(room.node_id, 0)
    return here >= holding.before.get(room.node_id, 0), -here, room.node_id


@attrs.frozen
class Way:
    """A room, and the containers that leave it so that another one fits."""

    room: Room
    givers: tuple[Holding, ...]


def make_way(board: Board, taker: Holding, floor: Fraction) -> Way | None:
    """Return the fairest way to a place for one more container of `taker`, or None.

    Only containers above their app's minimum give way, and only while the giver's share stays
    above `floor`. Of all ways, the one that leaves its poorest giver richest; of equal ones, the
    one that disturbs the fewest apps anew, then the one with the fewest containers.
    """
    donors = {
        holding.contender.app_id: holding
        for holding in board.holdings.values()
        if holding.surplus > 0 and holding.share_less > floor and holding is not taker
    }
    best, best_rank = None, None
    for room in board.rooms.values():
        here = [donors[app_id] for app_id in room.guests if app_id in donors]
        if not here or not _could_ever_fit(taker.demand, room, here):
            continue
        givers = _givers(taker.demand, room, here, floor)
        if givers is None:
            continue
        rank = (-_poorest_after(givers), _newly_disturbed(givers), len(givers), room.node_id)
        if best_rank is None or rank < best_rank:
            best, best_rank = Way(room, givers), rank
    return best


def _missing(demand: Resources, room: Room) -> Resources:
    """Return what the room lacks for one container: zero where nothing is missing."""
    return Resources(
        cpu_milli=max(0, demand.cpu_milli - room.cpu_milli) if demand.cpu_milli > 0 else 0,
        memory_bytes=max(0, demand.memory_bytes - room.memory_bytes)
        if demand.memory_bytes > 0
        else 0,
        gpu_count=max(0, demand.gpu_count - len(room.devices)),
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


def _could_ever_fit(demand: Resources, room: Room, donors: list[Holding]) -> bool:
    """Return False when not even all that these donors may give would do. Cheap, in integers."""
    missing = _missing(demand, room)
    cpu, memory, gpus = missing.cpu_milli, missing.memory_bytes, missing.gpu_count
    for donor in donors:
        count = min(donor.surplus, donor.counts[room.node_id])
        cpu -= count * donor.demand.cpu_milli
        memory -= count * donor.demand.memory_bytes
        gpus -= count * donor.demand.gpu_count
    return cpu <= 0 and memory <= 0 and gpus <= 0


def _givers(
    demand: Resources, room: Room, donors: list[Holding], floor: Fraction
) -> tuple[Holding, ...] | None:
    """Return who gives one container each (a name may come twice) so that one of `demand` fits.

    It may be more than needed when the last gift is a large one; `grow` hands the rest out again.
    """
    missing, givers = _missing(demand, room), list[Holding]()
    while missing != Resources():  # Each turn takes one container more, or gives up.
        able = [
            donor
            for donor in donors
            if _helps(missing, donor.demand) and _can_give(donor, room, givers, floor)
        ]
        if not able:
            return None
        giver = max(able, key=lambda donor: _generosity(donor, givers))
        givers.append(giver)
        missing = _less(missing, giver.demand)
    return tuple(givers)


def _can_give(donor: Holding, room: Room, givers: list[Holding], floor: Fraction) -> bool:
    given = givers.count(donor) if givers else 0
    return (
        given < min(donor.surplus, donor.counts[room.node_id])
        and donor.share_less - donor.contender.unit * given > floor
    )


def _generosity(donor: Holding, givers: list[Holding]) -> tuple[Fraction, bool, int]:
    """Return the sort key of giving: the richest, then who restarts anyway, then the youngest."""
    given = givers.count(donor) if givers else 0
    share = donor.share - donor.contender.unit * given if given else donor.share
    return share, donor.is_disturbed, donor.contender.order


def _poorest_after(givers: tuple[Holding, ...]) -> Fraction:
    return min(giver.share - giver.contender.unit * givers.count(giver) for giver in givers)


def _newly_disturbed(givers: tuple[Holding, ...]) -> int:
    fresh = {giver.contender.app_id for giver in givers if not giver.is_disturbed}
    return len(fresh)
