"""What each application got, and what kept it from more."""

from typing import Final

import numpy as np

from reconcilers.layout.decision import Limit, Verdict
from reconcilers.layout.optimizer.model import RESOURCES, Ints
from reconcilers.layout.optimizer.objective import growth
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.table import Table

EPSILON: Final = 1e-9


def verdicts(table: Table, guide: Guide, touches_left: int) -> dict[str, Verdict]:
    """Return the verdict on every application, by id.

    Args:
        table: The layout that was decided on.
        guide: The prices it was decided at.
        touches_left: How many more running applications might have been disturbed.
    """
    model = table.model
    fair = model.fair / np.maximum(model.share, 1e-300)
    rows = zip(
        model.snapshot.apps,
        table.size.tolist(),
        fair.tolist(),
        _limits(table, guide, touches_left),
        _scarcest(table, guide).tolist(),
        strict=True,
    )
    return {
        request.app_id: Verdict(
            containers=size,
            fair_containers=fair_size,
            limit=limit,
            resource=RESOURCES[full] if limit is Limit.RESOURCE else "",
        )
        for request, size, fair_size, limit, full in rows
    }


def _limits(table: Table, guide: Guide, touches_left: int) -> list[Limit]:
    """Return what limits each application: the first of the rules that holds."""
    model, waits = table.model, table.size == 0
    most = np.array([app.max for app in model.snapshot.apps], dtype=np.int64)
    minimum = model.demand * model.low[:, None] + model.fixed
    sum_fits = (minimum <= table.free.sum(axis=0)).all(axis=1)
    steps = growth(model, table.size)
    net = steps.gain - guide.loss_price * steps.loss
    is_free = ~model.running
    is_free[table.changed()] = True
    is_spent = np.full(model.apps, touches_left <= 0)
    rules = (
        (waits & ~model.possible, Limit.TOO_LARGE),
        (waits & ~model.entitled, Limit.NOT_DUE),
        (waits & sum_fits, Limit.FRAGMENTED),
        (waits & is_spent & model.running.any(), Limit.TOUCH_BUDGET),
        (waits, Limit.RESOURCE),
        (table.size >= most, Limit.AT_MAX),
        (model.rests, Limit.RESTS),
        (~guide.has_room(table), Limit.RESOURCE),
        (steps.loss > EPSILON, Limit.FAIR_SHARE),
        (is_free, Limit.RESOURCE),  # each has room somewhere, but not on the same node
        (net <= model.touch_cost + EPSILON, Limit.NOT_WORTH_IT),
        (is_spent, Limit.TOUCH_BUDGET),
        (np.ones(model.apps, dtype=bool), Limit.RESOURCE),
    )
    first = np.stack([holds for holds, _ in rules]).argmax(axis=0)
    return [rules[index][1] for index in first.tolist()]


def _scarcest(table: Table, guide: Guide) -> Ints:
    """Return (A,) which resource each application finds least of, in containers of its own."""
    model = table.model
    free = np.zeros_like(model.class_room)
    np.add.at(free, model.node_class, table.free)
    fits = np.isfinite(guide.unit_price)
    room = np.stack([np.where(fits, free[:, r], 0).sum(axis=1) for r in range(len(RESOURCES))])
    times = np.where(model.demand.T > 0, room / np.maximum(model.demand.T, 1), np.inf)
    scarcest: Ints = times.argmin(axis=0)
    return scarcest
