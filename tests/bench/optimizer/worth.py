"""What a decision is worth, worked out from its snapshot without the optimizer's own tables."""

import math

import attrs
import numpy as np

from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Model
from reconcilers.layout.snapshot import Snapshot


@attrs.frozen(kw_only=True)
class Worth:
    """A layout in figures.

    Attributes:
        value: The objective.
        loss: Sum of the distances from the fair shares.
        touched: Running applications whose places change.
        racks: Mean number of racks that a placed application stands in.
    """

    value: float
    loss: float
    touched: int
    racks: float


def worth(snapshot: Snapshot, decision: Decision) -> Worth:
    """Return what a layout is worth; gains and losses are linear between the model's points."""
    model = build(snapshot)
    sizes = [sum(decision.placements.get(app.app_id, {}).values()) for app in snapshot.apps]
    gains = _at(model, sizes, model.gain, model.gain_zero)
    losses = _at(model, sizes, model.loss, model.loss_zero)
    touched = [
        index
        for index, app in enumerate(snapshot.apps)
        if model.running[index]
        and (
            dict(app.placement) != dict(decision.placements.get(app.app_id, {}))
            or dict(app.role_placement) != dict(decision.role_placements.get(app.app_id, {}))
        )
    ]
    loss = math.fsum(losses)
    excess = max(0.0, loss - model.loss_max)
    restarts = math.fsum(model.touch_cost[touched].tolist())
    return Worth(
        value=math.fsum(gains) - restarts - EXCESS_PRICE * excess,
        loss=loss,
        touched=len(touched),
        racks=_racks(snapshot, decision),
    )


def _at(model: Model, sizes: list[int], values: np.ndarray, zero: np.ndarray) -> list[float]:
    return [
        float(np.interp(size, model.points[:, index], values[:, index]) if size else zero[index])
        for index, size in enumerate(sizes)
    ]


def _racks(snapshot: Snapshot, decision: Decision) -> float:
    rack = {node.node_id: node.rack for node in snapshot.nodes}
    counts = [len({rack[node] for node in places}) for places in decision.placements.values()]
    return sum(counts) / max(1, len(counts))
