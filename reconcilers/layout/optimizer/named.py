"""Prices by name: as a decision records them, and as the next one begins from them.

Between two decisions little happens, so the prices of the last one are nearly right, and the next
dual takes a fraction of the rounds from there. They are a hint and no more: its bound holds from
wherever it begins. Classes are named by their index, so a new kind of machine may shift them; that
costs rounds too.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from reconcilers.layout.optimizer.model import RESOURCES, Model
from reconcilers.layout.optimizer.prices import Prices

LOSS: Final = "loss"
RESTART: Final = "restart"


def by_name(model: Model, prices: Prices) -> dict[str, float]:
    """Return prices by `class/resource`, beside those of fairness `loss` and of one `restart`."""
    room = {
        f"{index}/{name}": float(prices.room[index, resource])
        for index in range(len(model.classes))
        for resource, name in enumerate(RESOURCES)
        if model.classes[index, resource] > 0
    }
    return {**room, LOSS: prices.loss, RESTART: prices.touch}


def recalled(model: Model, names: Mapping[str, float]) -> Prices | None:
    """Return the prices that have these names; None where there are none.

    What has no name, or a price that is none, costs nothing.
    """
    if not names:
        return None
    found = {name: price for name, price in names.items() if math.isfinite(price) and price > 0}
    room = np.zeros(model.classes.shape)
    for index, row in enumerate(room):
        row[:] = [found.get(f"{index}/{name}", 0.0) for name in RESOURCES]
    return Prices(room=room, loss=found.get(LOSS, 0.0), touch=found.get(RESTART, 0.0))
