"""Clearing nodes: moving guests away where there is room in sum, but not in one piece.

Containers are won one by one. For each, the nodes that lack least are looked at; the one that
fewest undisturbed applications have to leave is cleared, and those are placed elsewhere. What they
have above their minimum may be given up.
"""

import math
from typing import Final

import numpy as np

from reconcilers.layout.optimizer.guests import guests_of, needed, usable
from reconcilers.layout.optimizer.model import Bools
from reconcilers.layout.optimizer.packing import Guide, admit_roles, spots
from reconcilers.layout.optimizer.table import Table, times

NODES_SEEN_MAX: Final = 128  # nodes whose guests are counted, for one more container
NODES_TRIED_MAX: Final = 32  # nodes whose guests are tried to be placed elsewhere
CLEARED_MAX: Final = 16  # containers that are won for one application


def clear(table: Table, guide: Guide, app: int) -> Table | None:
    """Return the layout with a waiting application at its minimum, or None if it cannot be."""
    after = table.copy()
    low = int(table.model.low[app])
    after.put(app, spots(after, guide, app, low))
    if low - after.size[app] > CLEARED_MAX:
        return None
    while after.size[app] < low:  # One container more each turn.
        cleared = _clear_one(after, guide, app)
        if cleared is None:
            return None
        after = cleared
    return after if admit_roles(after, app) else None


def _clear_one(table: Table, guide: Guide, app: int) -> Table | None:
    """Return the layout with one more container of `app`, on the node cheapest to clear."""
    model = table.model
    movable = np.where(model.running & ~model.rests, table.size, 0)
    guests = guests_of(table, movable)
    fits = usable(guide, app, model) & (
        times(table.free + guests.room(model), model.demand[app]) > 0
    )
    lack = np.maximum(model.demand[app] - table.free, 0)
    hard = np.round((lack / np.maximum(model.total, 1)).max(axis=1, initial=0), 12)
    nodes = np.flatnonzero(fits)
    nodes = nodes[np.lexsort((nodes, hard[nodes]))][:NODES_SEEN_MAX]
    touched = table.touched()
    plans = []
    for node in nodes.tolist():
        leaving = _leaving(table, guests.on(node), app, node, touched)
        fresh = sum(1 for guest in leaving if not touched[guest])
        moved = math.fsum(float(model.share[guest]) * leaving[guest] for guest in leaving)
        plans.append((fresh, round(moved, 12), node, leaving))
    for _, _, node, leaving in sorted(plans, key=lambda plan: plan[:3])[:NODES_TRIED_MAX]:
        after = _move(table, guide, app, node, leaving)
        if after is not None:
            return after
    return None


def _leaving(
    table: Table, guests: list[tuple[int, int]], app: int, node: int, touched: Bools
) -> dict[int, int]:
    """Return which guests have to leave a node for one container of `app`, few of them."""
    model, room = table.model, table.free[node].copy()
    leaving: dict[int, int] = {}
    by_size = sorted(
        guests, key=lambda entry: (not touched[entry[0]], -float(model.share[entry[0]] * entry[1]))
    )
    for guest, count in by_size:
        many = needed(model.demand[app] - room, model.demand[guest])
        if many:
            leaving[guest] = min(many, count)
            room += model.demand[guest] * leaving[guest]
    for guest in sorted(leaving, key=lambda one: (touched[one], one)):
        rest = room - model.demand[guest] * leaving[guest]
        if bool((rest >= model.demand[app]).all()):
            room = rest
            del leaving[guest]
    return leaving


def _move(table: Table, guide: Guide, app: int, node: int, leaving: dict[int, int]) -> Table | None:
    """Return the layout with guests placed elsewhere and one container of `app` in their stead."""
    after = table.copy()
    for guest, count in leaving.items():
        after.take(guest, {node: count})
    after.put(app, {node: 1})
    for guest in sorted(leaving, key=lambda one: (-float(table.model.share[one]), one)):
        after.put(guest, spots(after, guide, guest, leaving[guest]))
        if after.size[guest] < table.model.low[guest]:
            return None
    return after
