"""How many running applications one decision may disturb: as few as are worth it.

The rules allow K, but most of the time that buys restarts and nothing else. So the budget
escalates: 0, a fiftieth of the running applications, K. What each can bring at most is known before
anything is tried, from its bound: the dual of the layout problem with that budget, which takes
milliseconds when started from the prices of the full budget. Chosen is the smallest one whose bound
is within `PAYS` of the bound of the full budget. All those bounds are loose alike (they do not know
that nodes are indivisible), so their differences say what more restarts would bring, even where
none of them can be reached.

Source of the escalation: measurements at 10,000 nodes, where a fiftieth gave the utilization of a
tenth with a quarter of the restarts, and single arrivals gained nothing from 240 of them.
"""

import math
from collections.abc import Iterator
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Model
from reconcilers.layout.optimizer.prices import Dual, dual
from reconcilers.layout.optimizer.table import Table

PAYS: Final = 1e-3  # restarts have to bring this part of the bound
TYPICAL: Final = 0.02  # of the running applications: what is tried before the full budget


@attrs.frozen(kw_only=True, eq=False)
class Level:
    """One budget and what it could bring.

    Attributes:
        touches: Running applications that may be disturbed beside those that have to be.
        dual: The prices and the bound with this budget.
    """

    touches: int
    dual: Dual


def levels(
    model: Model, full: Dual, forced: int, *, least: int = 0, pays: float = PAYS
) -> Iterator[Level]:
    """Yield the budgets that are worth trying, the smallest first; the full one last.

    Args:
        model: The problem.
        full: The dual with the full budget.
        forced: Running applications that are disturbed whatever happens.
        least: Smaller budgets are known not to do.
        pays: Part of the full bound by which the bound of a budget may be below it.
    """
    most = model.touches_max
    few = min(most, math.ceil(TYPICAL * int(model.running.sum())))
    for touches in sorted({0, few} - {most}):
        if touches < least:
            continue
        answer = dual(model, touches_max=touches + forced, start=full.prices)
        if answer.bound >= full.bound - pays * abs(full.bound):
            yield Level(touches=touches, dual=answer)
    yield Level(touches=most, dual=full)


def chosen(table: Table, level: Level) -> dict[int, int]:
    """Return whom to disturb with a budget, and to what size each shrinks first.

    Those that change in most of the fractional layout come first; the size is the one they have
    there.
    """
    model, weight = table.model, np.round(level.dual.touched, 7)
    may = model.running & ~model.rests & ~table.touched()
    ids = np.flatnonzero(may & (weight > 0))
    ids = ids[np.lexsort((ids, -weight[ids]))][: level.touches]
    target = np.rint(level.dual.target[ids].sum(axis=1)).astype(np.int64)
    size = np.clip(target, model.low[ids], model.high[ids])
    return dict(zip(ids.tolist(), size.tolist(), strict=True))
