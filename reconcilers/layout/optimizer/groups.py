"""Nodes that no demand can tell apart.

A pattern program needs a row per group of nodes with equal room, not per node. Room is first made
canonical, which changes no pattern that fits: of each resource only as much counts as some sum of
demands can reach (the normal patterns of cutting stock), and no more than can be used with what is
there of the other resources. Are there still too many groups, room is rounded down to a grid.

Source: Herz, "Recursive computational procedure for two-dimensional stock cutting", 1972.
"""

from itertools import permutations
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import RESOURCES, Ints
from reconcilers.layout.optimizer.shapes import distinct

GROUPS_MAX: Final = 400
REACH_MAX: Final = 1 << 17  # largest room, in units, whose reachable sums are worth listing
EXACT_MAX: Final = 1 << 50  # most room that counts: quotients of floats are exact up to there


@attrs.frozen(kw_only=True, eq=False)
class Groups:
    """Groups of nodes where at least one shape fits.

    Attributes:
        room: (G, R) of one node of each group.
        count: (G,) nodes of each group.
        nodes: Members of all groups, one group after the other, neighbours in rack order.
        start: (G,) where each group begins in `nodes`.
    """

    room: Ints
    count: Ints
    nodes: Ints
    start: Ints


def group(free: Ints, order: Ints, demand: Ints) -> Groups:
    """Return the groups of all nodes with room for one container at least.

    Args:
        free: (H, R) room of each node.
        order: (H,) node indices in rack order.
        demand: (S, R) shapes; their containers are all that will be placed.
    """
    room, which = distinct(np.clip(free, 0, EXACT_MAX)[order])
    fits = np.zeros(len(room), dtype=bool)
    for shape in demand:
        fits |= (shape <= room).all(axis=1)
    room = np.where(fits[:, None], room, 0)
    room, again = distinct(_reachable(_usable(room, demand), demand))
    which = again[which]
    if len(room) > GROUPS_MAX:
        room, again = _rounded(room, demand)
        which = again[which]
    return _groups(room, which, order, demand)


def _groups(room: Ints, which: Ints, order: Ints, demand: Ints) -> Groups:
    fits = np.zeros(len(room), dtype=bool)
    for shape in demand:
        fits |= (shape <= room).all(axis=1)
    kept = np.flatnonzero(fits[which])
    renumbered = np.cumsum(fits) - 1
    members = renumbered[which[kept]]
    by_group = np.argsort(members, kind="stable")
    count = np.bincount(members, minlength=int(fits.sum())).astype(np.int64)
    return Groups(
        room=room[fits],
        count=count,
        nodes=order[kept[by_group]],
        start=np.cumsum(count) - count,
    )


def _usable(room: Ints, demand: Ints) -> Ints:
    """Cap each resource by what can be used of it together with what is there of another one.

    If every container takes some of resource a, then of b at most `room_a * max(d_b / d_a)`.
    """
    capped = room.copy()
    for a, b in permutations(range(len(RESOURCES)), 2):
        if len(demand) and (demand[:, a] > 0).all():
            ratio = float((demand[:, b] / demand[:, a]).max())
            most = np.minimum(np.floor(room[:, a] * ratio * (1 + 1e-12)), float(EXACT_MAX))
            capped[:, b] = np.minimum(capped[:, b], most.astype(np.int64))
    return capped


def _reachable(room: Ints, demand: Ints) -> Ints:
    """Round each resource down to a sum of demands; where numbers are large, leave it as it is."""
    rounded = room.copy()
    for resource in range(len(RESOURCES)):
        most = int(room[:, resource].max(initial=0))
        amounts = np.unique(demand[:, resource])
        if most <= REACH_MAX:
            sums = _sums([int(amount) for amount in amounts if amount > 0], most)
            rounded[:, resource] = sums[room[:, resource]]
    return rounded


def _sums(amounts: list[int], most: int) -> Ints:
    """Return the largest sum of `amounts`, each as often as you like, up to every 0..most.

    Bit n of an integer says whether n can be reached; doubling the shift adds any number of copies.
    """
    mask = (1 << (most + 1)) - 1
    bits = 1
    for amount in amounts:
        shift = amount
        while shift <= most:
            bits |= (bits << shift) & mask
            shift *= 2
    raw = np.frombuffer(bits.to_bytes(most // 8 + 1, "little"), dtype=np.uint8)
    reached = np.unpackbits(raw, bitorder="little")[: most + 1].astype(bool)
    return np.maximum.accumulate(np.where(reached, np.arange(most + 1), 0))


def _rounded(room: Ints, demand: Ints) -> tuple[Ints, Ints]:
    """Return at most `GROUPS_MAX` rooms, each the least of its members, and which one each is in.

    The grid begins at a quarter of the smallest demand and widens until the groups are few.
    """
    positive = np.where(demand > 0, demand, EXACT_MAX).min(axis=0)
    step = np.maximum(positive // 4, 1)
    while True:  # A step beyond the largest room makes one group of them all.
        cells, which = distinct(room // step)
        if len(cells) <= GROUPS_MAX:
            break
        step = step + (step + 1) // 2
    least = np.full(cells.shape, EXACT_MAX)
    np.minimum.at(least, which, room)
    return least, which
