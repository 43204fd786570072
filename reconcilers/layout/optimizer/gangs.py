"""Room for one application that has to be placed now, though its minimum does not fit.

Lexicographic: (1) the fewest running applications are disturbed, (2) the layout is worth the most.
Two ways are tried. *Shrinking*: whoever has most above `max(low, fair share)`, counted in
containers of the gang, gives containers up where they are; down to `low` only if that is not
enough, or disturbs fewer. *Clearing* (`clearing`): when there is room in sum but not in one piece,
the guests that are cheapest to move make way on single nodes. What rests is never touched.

How many must shrink is found by bisection over the order of what they can give, then each of them
is spared if the others suffice.
"""

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.clearing import clear
from reconcilers.layout.optimizer.guests import Guests, guests_of, usable
from reconcilers.layout.optimizer.model import Ints
from reconcilers.layout.optimizer.objective import score
from reconcilers.layout.optimizer.packing import Guide, admit
from reconcilers.layout.optimizer.table import Table, times

FEW: Final = 12  # disturbed applications, for whom another way is looked for
SPARED_MAX: Final = 12  # applications that are tried to be spared after bisection


def make_room(table: Table, guide: Guide, app: int) -> Table | None:
    """Return the layout with a waiting application at its minimum, or None if it cannot be.

    Args:
        table: The layout without it, which stays.
        guide: Prices, for where to put things.
        app: The application.
    """
    direct = table.copy()
    if admit(direct, guide, app, int(table.model.low[app])):
        return direct
    to_fair = _shrunken(table, guide, app, _surplus(table, to_fair=True))
    plans, disturbed = [to_fair], _touches(table)
    if to_fair is None or 1 < _touches(to_fair) - disturbed <= FEW:
        plans.append(_shrunken(table, guide, app, _surplus(table, to_fair=False)))
        plans.append(clear(table, guide, app))
    found = [plan for plan in plans if plan is not None]
    return min(found, key=lambda plan: (_touches(plan), -score(plan).value), default=None)


def _touches(table: Table) -> int:
    return int(table.touched().sum())


def _surplus(table: Table, *, to_fair: bool) -> Ints:
    """Return (A,) containers that each application can give up."""
    model, least = table.model, table.model.low
    if to_fair:
        fair = np.ceil(model.fair / np.maximum(model.share, 1e-300) - 1e-9)
        least = np.maximum(least, np.minimum(fair, 2.0**40).astype(np.int64))
    gives = model.running & ~model.rests
    return np.where(gives, np.maximum(table.size - least, 0), 0)


def _shrunken(table: Table, guide: Guide, app: int, surplus: Ints) -> Table | None:
    """Return the layout for which the fewest give up some of their surplus."""
    order = _givers(table, app, surplus)
    best = _with(table, guide, app, surplus, order)
    if best is None:
        return None
    few, enough = 0, len(order)  # `few` givers do not suffice, `enough` do
    while enough - few > 1:  # The interval halves each turn.
        middle = (few + enough) // 2
        plan = _with(table, guide, app, surplus, order[:middle])
        if plan is None:
            few = middle
        else:
            enough, best = middle, plan
    givers = order[:enough]
    for giver in givers[::-1][:SPARED_MAX]:
        others = [other for other in givers if other != giver]
        plan = _with(table, guide, app, surplus, others)
        if plan is not None:
            givers, best = others, plan
    return best


def _givers(table: Table, app: int, surplus: Ints) -> list[int]:
    """Return who has surplus, by how many containers of the gang it could stand for."""
    model, demand = table.model, table.model.demand
    takes = np.flatnonzero(demand[app] > 0)
    worth = (surplus[:, None] * demand[:, takes] / demand[app, takes]).min(axis=1)
    givers = np.flatnonzero(surplus > 0)
    fresh = ~table.touched()[givers]  # Who is disturbed already comes first.
    by_use = -np.round(surplus[givers] * model.share[givers], 9)
    order = np.lexsort((givers, by_use, -np.round(worth[givers], 6), fresh))
    return [int(giver) for giver in givers[order]]


def _with(
    table: Table, guide: Guide, app: int, surplus: Ints, givers: Sequence[int]
) -> Table | None:
    """Return the layout for which some give up surplus, or None if that is not enough."""
    model, demand = table.model, table.model.demand[app]
    left = np.zeros_like(surplus)
    left[list(givers)] = surplus[list(givers)]
    guests = guests_of(table, left)
    open_to, low = usable(guide, app, model), int(model.low[app])
    now = np.where(open_to, times(table.free, demand), 0)
    could = np.where(open_to, times(table.free + guests.room(model), demand), 0)
    lack = np.maximum((now + 1)[:, None] * demand - table.free, 0)
    hard = np.round((lack / np.maximum(demand, 1)).max(axis=1, initial=0), 9)
    nodes = np.flatnonzero(could > now)
    giving = _Giving(table=table, app=app, guests=guests, left=left.tolist())
    need = low - int(now.sum())
    for node in nodes[np.lexsort((nodes, hard[nodes]))].tolist():
        if need <= 0:
            break
        need -= giving.give_up(node, min(int(could[node] - now[node]), need))
    if need > 0:
        return None
    after = table.copy()
    for giver, slots in giving.given.items():
        after.take(giver, slots)
    return after if admit(after, guide, app, low) else None


@attrs.frozen(kw_only=True, eq=False)
class _Giving:
    """Who gives what up where. In plain integers, because a burst asks thousands of nodes.

    Attributes:
        left: Surplus of each application; counts down.
        given: Containers by application and node.
    """

    table: Table
    app: int
    guests: Guests
    left: list[int]
    given: dict[int, dict[int, int]] = attrs.field(factory=dict)

    def give_up(self, node: int, wanted: int) -> int:
        """Let guests of a node give up surplus until `wanted` more fit; return how many do."""
        demand = self.table.model.demand
        one, room = demand[self.app].tolist(), self.table.free[node].tolist()
        before = _times(room, one)
        whole = [amount * (before + wanted) for amount in one]
        guests = sorted(self.guests.on(node), key=lambda entry: (-self.left[entry[0]], entry[0]))
        for guest, count in guests:
            each = demand[guest].tolist()
            gives = min(_needed(whole, room, each), count, self.left[guest])
            if gives > 0:
                room = [amount + gives * more for amount, more in zip(room, each, strict=True)]
                self.left[guest] -= gives
                self.given.setdefault(guest, {})[node] = gives
        return _times(room, one) - before


def _times(room: list[int], one: list[int]) -> int:
    pairs = zip(room, one, strict=True)
    return min((amount // part for amount, part in pairs if part > 0), default=0)


def _needed(whole: list[int], room: list[int], each: list[int]) -> int:
    """Return how many containers of `each` have to go until `whole` fits, as far as they help."""
    rows = zip(whole, room, each, strict=True)
    return max((-(-(want - has) // part) for want, has, part in rows if part > 0), default=0)
