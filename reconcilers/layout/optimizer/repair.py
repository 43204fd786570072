"""Repairing what rounding leaves: growing into the room that is left, and shrinking for fairness.

Growth goes to whoever makes most of a unit of priced room first:

    (gain - loss price * added loss - restart) / price of the containers

piece by piece along the lines between value points, never beyond the fairness bound F and never
disturbing more running applications than the budget has left. Once the loss is above F, one unit of
it costs EXCESS_PRICE instead, which makes pieces that bring applications nearer to their fair
share come first; and what is above its fair share and cheapest to give up is given up.

What needs as much as something that found no room is not tried before something shrinks.
"""

import operator
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import EXCESS_PRICE, Bools, Floats, Ints
from reconcilers.layout.optimizer.objective import Steps, decline, growth, losses, total
from reconcilers.layout.optimizer.packing import Guide, admit, spots
from reconcilers.layout.optimizer.table import Table

ROUNDS_MAX: Final = 6
FAILURES_MAX: Final = 48  # needs that may turn out not to fit before growing ends
TINY: Final = 1e-12


@attrs.define(kw_only=True, eq=False)
class Repair:
    """One repair of one table.

    Attributes:
        table: Repaired in place.
        guide: What room and losses are worth.
        may: (A,) who may be changed freely: whoever waits or is changed already.
        limit: (A,) sizes beyond which nobody grows.
        touches: How many more running applications may be disturbed; counts down.
    """

    table: Table
    guide: Guide
    may: Bools
    limit: Ints
    touches: int
    _unmet: list[tuple[int, ...]] = attrs.field(factory=list)

    def run(self) -> None:
        """Shrink for fairness and grow into room, until neither is possible."""
        for _ in range(ROUNDS_MAX):
            shed, grown = self._shed(), self._grow()
            if not shed and not grown:
                return
            if shed:
                self._unmet.clear()

    def _grow(self) -> bool:
        """Grow by one piece each; return whether anything grew."""
        model, steps = self.table.model, growth(self.table.model, self.table.size)
        loss = total(losses(model, self.table.size))
        price = EXCESS_PRICE if loss > model.loss_max else self.guide.loss_price
        net = steps.gain - price * steps.loss - np.where(self.may, 0.0, model.touch_cost)
        wanted = self._allowed() & (net > TINY)
        wanted &= np.minimum(steps.count, self.limit - self.table.size) > 0
        if not wanted.any():
            return False
        wanted &= self.guide.has_room(self.table)
        grown = False
        for app in self._by_worth(wanted, net, steps):
            if len(self._unmet) >= FAILURES_MAX:
                break
            count = min(
                self._within_bound(app, steps, loss), int(self.limit[app] - self.table.size[app])
            )
            added = self._add(app, count) if count and self._may_change(app) else 0
            if added:
                loss += float(steps.loss[app]) * added / int(steps.count[app])
                self._changed(app)
                grown = True
        return grown

    def _allowed(self) -> Bools:
        """Return (A,) who may change at all."""
        model = self.table.model
        if self.touches <= 0:
            return self.may
        return self.may | (model.running & ~model.rests)

    def _by_worth(self, wanted: Bools, net: Floats, steps: Steps) -> list[int]:
        """Return applications by net worth per priced room, best first."""
        model, apps = self.table.model, np.flatnonzero(wanted)
        room = (self.guide.price[apps] + 1e-3 * model.use[apps]) * steps.count[apps]
        worth = np.round(net[apps] / np.maximum(room, TINY), 9)
        return [int(app) for app in apps[np.lexsort((apps, -worth))]]

    def _may_change(self, app: int) -> bool:
        return bool(self.may[app]) or self.touches > 0

    def _changed(self, app: int) -> None:
        if not self.may[app]:
            self.touches -= 1
            self.may[app] = True

    def _within_bound(self, app: int, steps: Steps, loss: float) -> int:
        """Return how much of a piece the fairness bound allows; a gang's first piece is whole."""
        count, added = int(steps.count[app]), float(steps.loss[app])
        room = self.table.model.loss_max - loss
        if added <= max(room, 0.0):
            return count
        if self.table.size[app] == 0 or room <= 0:
            return 0
        return int(room * count / added)

    def _add(self, app: int, count: int) -> int:
        """Place up to `count` more containers; return how many."""
        table, waits = self.table, self.table.size[app] == 0
        need = (*table.model.demand[app].tolist(), count if waits else 1)
        if any(all(map(operator.ge, need, unmet)) for unmet in self._unmet):
            return 0
        if waits:
            added = count if admit(table, self.guide, app, count) else 0
        else:
            slots = spots(table, self.guide, app, count)
            table.put(app, slots)
            added = sum(slots.values())
        if not added:
            self._unmet.append(need)
        return added

    def _shed(self) -> bool:
        """Take back containers above fair shares while the loss is above its bound."""
        table, model = self.table, self.table.model
        excess = total(losses(model, table.size)) - model.loss_max
        if excess <= TINY:
            return False
        steps = decline(model, table.size)
        restart = np.where(self.may, 0.0, model.touch_cost)
        saved = EXCESS_PRICE * steps.loss - steps.gain - restart
        apps = np.flatnonzero(self._allowed() & (steps.loss > TINY) & (saved > TINY))
        cost = np.round(steps.gain[apps] / np.maximum(steps.loss[apps], TINY), 9)
        shed = False
        for app in apps[np.lexsort((apps, cost))].tolist():
            if excess <= TINY:
                break
            if not self._may_change(app):
                continue
            each = float(steps.loss[app]) / int(steps.count[app])
            count = min(int(steps.count[app]), int(np.ceil(excess / each - TINY)))
            table.shrink(app, int(table.size[app]) - count)
            excess -= each * count
            self._changed(app)
            shed = True
        return shed
