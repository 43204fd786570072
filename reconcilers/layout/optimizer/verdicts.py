"""What each application got, and what kept it from more."""

from collections.abc import Mapping
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.decision import Limit, Verdict
from reconcilers.layout.optimizer.model import RESOURCES, Floats, Ints, Model
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
    model, facts = table.model, _Facts.of(table, guide, touches_left)
    fair = model.fair / np.maximum(model.share, 1e-300)
    sizes, fairs = table.size.tolist(), fair.tolist()
    found = {}
    for app, request in enumerate(model.snapshot.apps):
        limit = facts.waiting(app) if sizes[app] == 0 else facts.placed(app)
        full = facts.full[app] if limit is Limit.RESOURCE else -1
        found[request.app_id] = Verdict(
            containers=sizes[app],
            fair_containers=fairs[app],
            limit=limit,
            resource=RESOURCES[full] if full >= 0 else "",
        )
    return found


@attrs.frozen(kw_only=True, eq=False)
class _Facts:
    """What verdicts are made from, by application.

    Attributes:
        has_room: Something of it may still fit.
        sum_fits: Its minimum fits into all that is free, if nodes did not matter.
        unfair: Growth moves it away from its fair share.
        worth_it: Growth brings more than a restart costs.
        free_to_change: It is changed already, or waits.
        full: Index of the resource that it finds least of.
    """

    model: Model
    size: list[int]
    has_room: list[bool]
    sum_fits: list[bool]
    unfair: list[bool]
    worth_it: list[bool]
    free_to_change: list[bool]
    full: list[int]
    touches_left: int

    @classmethod
    def of(cls, table: Table, guide: Guide, touches_left: int) -> "_Facts":
        model, steps = table.model, growth(table.model, table.size)
        net = steps.gain - guide.loss_price * steps.loss
        minimum = model.demand * model.low[:, None] + model.fixed
        free = ~model.running
        free[table.changed()] = True
        return cls(
            model=model,
            size=table.size.tolist(),
            has_room=guide.has_room(table).tolist(),
            sum_fits=(minimum <= table.free.sum(axis=0)).all(axis=1).tolist(),
            unfair=(steps.loss > EPSILON).tolist(),
            worth_it=(net > model.touch_cost + EPSILON).tolist(),
            free_to_change=free.tolist(),
            full=_scarcest(table, guide).tolist(),
            touches_left=touches_left,
        )

    def waiting(self, app: int) -> Limit:
        """Return what keeps an application waiting."""
        model = self.model
        if not model.possible[app]:
            return Limit.TOO_LARGE
        if not model.entitled[app]:
            return Limit.NOT_DUE
        if self.sum_fits[app]:
            return Limit.FRAGMENTED
        could_help = model.running.any() and self.touches_left <= 0
        return Limit.TOUCH_BUDGET if could_help else Limit.RESOURCE

    def placed(self, app: int) -> Limit:
        """Return what keeps an application from growing."""
        model = self.model
        if self.size[app] >= model.snapshot.apps[app].max:
            return Limit.AT_MAX
        if model.rests[app]:
            return Limit.RESTS
        if not self.has_room[app]:
            return Limit.RESOURCE
        if self.unfair[app]:
            return Limit.FAIR_SHARE
        return self._undisturbed(app)

    def _undisturbed(self, app: int) -> Limit:
        """Return why an application is not given room that there may be."""
        if self.free_to_change[app]:
            return Limit.RESOURCE  # each resource has room somewhere, but not on the same node
        if not self.worth_it[app]:
            return Limit.NOT_WORTH_IT
        return Limit.TOUCH_BUDGET if self.touches_left <= 0 else Limit.RESOURCE


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


def prices(model: Model, room: Floats) -> Mapping[str, float]:
    """Return what a whole class full of each resource is worth, by `class/resource`."""
    return {
        f"{index}/{name}": float(room[index, resource])
        for index in range(len(model.classes))
        for resource, name in enumerate(RESOURCES)
        if model.classes[index, resource] > 0
    }
