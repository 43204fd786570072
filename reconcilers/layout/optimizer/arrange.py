"""One layout for one choice of who may be disturbed: patterns first, then repair.

Everything stays where it is but those who wait, those who are changed already and those chosen to
be disturbed. The chosen shrink in place to the sizes that the prices suggest; the pattern program
then hands out the room that is free, to place and to grow; repair smooths what rounding has left.
"""

import math
from collections.abc import Mapping

import attrs
import numpy as np

from reconcilers.layout.optimizer.fill import NOTHING, fill
from reconcilers.layout.optimizer.model import Bools, Ints
from reconcilers.layout.optimizer.objective import Score, gains, losses, score, total
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.repair import Repair
from reconcilers.layout.optimizer.request import Filling, FillRequest
from reconcilers.layout.optimizer.table import Table


@attrs.frozen(kw_only=True, eq=False)
class Candidate:
    """A layout that was worked out.

    Attributes:
        table: The layout.
        score: How good it is.
        bound: Of the pattern program; infinite unless it was asked to prove one.
    """

    table: Table
    score: Score
    bound: float = math.inf


@attrs.frozen(kw_only=True, eq=False)
class Freedom:
    """What may be changed of a layout.

    Attributes:
        waiting: (A,) who may be placed; only counts for whoever has nothing.
        fixed: (A,) who is changed already and stays so; does not count against the budget.
        chosen: Running applications to disturb, with the size that each shrinks to.
        touches: Running applications that may be disturbed in all.
        must: (A,) who of the waiting has to be placed.
        limit: (A,) upper bounds of the sizes.
        certify: Whether the pattern program is to prove a bound.
    """

    waiting: Bools
    fixed: Bools
    chosen: Mapping[int, int] = attrs.field(factory=dict)
    touches: int = 0
    must: Bools | None = None
    limit: Ints | None = None
    certify: bool = False


def arrange(base: Table, guide: Guide, freedom: Freedom) -> Candidate:
    """Return the layout that a table becomes within some freedom."""
    table = base.copy()
    for app, size in sorted(freedom.chosen.items()):
        table.shrink(app, size)
    movable = np.zeros(table.model.apps, dtype=bool)
    movable[[*base.changed(), *freedom.chosen]] = True
    filling = _fill(table, guide, freedom, np.where(table.size == 0, freedom.waiting, movable))
    Repair(
        table=table,
        guide=guide,
        may=_may(table, freedom),
        limit=table.model.high if freedom.limit is None else freedom.limit,
        touches=freedom.touches - int((table.touched() & ~freedom.fixed).sum()),
    ).run()
    _undo(table, guide, np.flatnonzero(table.touched() & ~freedom.fixed).tolist())
    return Candidate(table=table, score=score(table), bound=filling.bound)


def _fill(table: Table, guide: Guide, freedom: Freedom, movable: Bools) -> Filling:
    """Hand out the free room by patterns, and lay them down."""
    model, waits = table.model, table.size == 0
    must = np.zeros(model.apps, dtype=bool) if freedom.must is None else freedom.must
    if not freedom.certify:
        grows = movable & ~waits & guide.has_room(table)
        movable = grows | guide.can_start(table, movable & waits)
    if not movable.any():
        return Filling(added=NOTHING)
    apps = guide.seniority[movable[guide.seniority]]
    others = ~movable
    filling = fill(
        model,
        FillRequest(
            free=table.free,
            apps=apps,
            kept=table.size,
            must=must,
            other_gain=total(gains(model, table.size)[others]),
            other_loss=total(losses(model, table.size)[others]),
            certify=freedom.certify,
            limit=freedom.limit,
        ),
    )
    table.add(filling.added)
    table.put_roles(filling.roles)
    return filling


def _may(table: Table, freedom: Freedom) -> Bools:
    """Return (A,) who can go on changing at no further cost."""
    may = np.zeros(table.model.apps, dtype=bool)
    may[table.changed()] = True
    return np.where(table.size == 0, freedom.waiting, may)


def _undo(table: Table, guide: Guide, touched: list[int]) -> None:
    """Put back whoever would be disturbed for less than it costs, where the old places are free."""
    model = table.model
    gain = gains(model, table.size) - model.gain_old
    loss = losses(model, table.size) - model.loss_old
    net = gain - guide.loss_price * loss - model.touch_cost
    for app in touched:
        if net[app] <= 0:
            table.restore(app)
