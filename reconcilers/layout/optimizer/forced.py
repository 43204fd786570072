"""What has to happen whatever it is worth, before anything is optimized.

In this order, everyone at its minimum only:

1. Who lost its places (a node is gone) and whoever's time to wait is up is placed into free room.
2. Yielding applications make way for higher tiers (`tiers`).
3. For those of 1 that found no room, running applications are disturbed, as few as possible
   (`gangs`). This is outside of the touch budget: a gang waits for the budget only so long.

While somebody waits whose minimum is due, nobody is placed whose minimum is not: it would take what
the other one waits for, and once it runs it cannot be made to go. Only where not even moving
applications around makes room for the one, the others need not wait for it.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.arrange import Freedom, arrange
from reconcilers.layout.optimizer.gangs import make_room
from reconcilers.layout.optimizer.model import Bools, Model
from reconcilers.layout.optimizer.named import recalled
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.prices import Dual, dual
from reconcilers.layout.optimizer.table import Table, standing
from reconcilers.layout.optimizer.tiers import give_way

BURSTS_MAX: Final = 8  # applications for which others are disturbed, in one decision


@attrs.frozen(kw_only=True, eq=False)
class Case:
    """A problem with everything done that has to be.

    Attributes:
        base: The layout so far.
        fixed: (A,) who is changed in it.
        waiting: (A,) who may be placed.
        priced: The model in which whoever may not be placed is worth nothing.
        full: The dual with the full touch budget, beside those that had to be disturbed.
        guide: Its prices.
        forced: Running applications that had to be disturbed.
    """

    base: Table
    fixed: Bools
    waiting: Bools
    priced: Model
    full: Dual
    guide: Guide
    forced: int


def prepare(model: Model) -> Case:
    """Return the problem with everything done that has to be."""
    table = standing(model)
    waiting = (model.entitled | model.evicted) & (table.size == 0)
    priced = _worthless(model, ~waiting & (table.size == 0))
    full = dual(priced, start=recalled(model, model.snapshot.prices))
    guide = Guide.of(model, full)
    due = waiting & (model.evicted | model.overdue)
    if due.any():
        table = _at_minimum(table, guide, due)
    if model.yields.any():
        table = give_way(table, guide, waiting)
    stuck = np.zeros(model.apps, dtype=bool)
    for app in _served(guide, due & model.entitled & (table.size == 0)):
        room = make_room(table, guide, app)
        stuck[app] = room is None
        table = table if room is None else room
    if stuck.any():
        waiting, priced = table.size == 0, model
    forced = int(table.touched().sum())
    if forced or stuck.any():
        full = dual(priced, touches_max=model.touches_max + forced, start=full.prices)
        guide = Guide.of(model, full)
    fixed = np.zeros(model.apps, dtype=bool)
    fixed[table.changed()] = True
    return Case(
        base=table,
        fixed=fixed & (table.size > 0),
        waiting=waiting & (table.size == 0),
        priced=priced,
        full=full,
        guide=guide,
        forced=forced,
    )


def _worthless(model: Model, barred: Bools) -> Model:
    """Return the model in which some are worth no more placed than waiting."""
    if not barred.any():
        return model
    return attrs.evolve(model, gain=np.where(barred, model.gain_zero, model.gain))


def _at_minimum(table: Table, guide: Guide, due: Bools) -> Table:
    freedom = Freedom(
        waiting=due,
        fixed=table.touched(),
        must=due,
        limit=np.maximum(table.size, table.model.low),
    )
    return arrange(table, guide, freedom).table


def _served(guide: Guide, due: Bools) -> list[int]:
    """Return those that are due, in order of seniority, as many as one decision makes room for."""
    return [int(app) for app in guide.seniority[due[guide.seniority]][:BURSTS_MAX]]
