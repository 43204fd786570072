"""What happens to a cluster between two decisions: work ends, work comes, nodes die."""

from collections.abc import Collection

import attrs
import numpy as np

from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, Snapshot
from tests.bench.optimizer.instances import HOUR_MS, arrivals

WAITED_MS = 60_000  # of whoever still waits: less than what lifts the touch budget


def after(snapshot: Snapshot, decision: Decision, *, ran_ms: int = HOUR_MS) -> Snapshot:
    """Return the snapshot that follows a decision once it is carried out, `ran_ms` later."""
    return attrs.evolve(
        snapshot,
        apps=tuple(_placed(app, decision, ran_ms) for app in snapshot.apps),
        prices=decision.prices,
    )


def _placed(app: AppRequest, decision: Decision, ran_ms: int) -> AppRequest:
    placement = dict(decision.placements.get(app.app_id, {}))
    was_touched = app.app_id in decision.touched or not app.placement
    return attrs.evolve(
        app,
        placement=placement,
        role_placement=dict(decision.role_placements.get(app.app_id, {})),
        ran_ms=(0 if was_touched else app.ran_ms or 0) + ran_ms,
        waited_ms=0 if placement else app.waited_ms + min(ran_ms, WAITED_MS),
        is_evicted=False,
    )


def churned(kind: str, before: Snapshot, part: float, *, seed: int, shapes: str) -> Snapshot:
    """Return the snapshot with a part of the running applications ended, and as many new ones."""
    running = [app.app_id for app in before.apps if app.placement]
    return exchanged(kind, before, round(part * len(running)), seed=seed, shapes=shapes)


def exchanged(kind: str, before: Snapshot, count: int, *, seed: int, shapes: str) -> Snapshot:
    """Return the snapshot with so many running applications ended, and as many new ones."""
    draw = np.random.default_rng(seed + 77)
    running = [app.app_id for app in before.apps if app.placement]
    ended = set(draw.choice(running, min(count, len(running)), replace=False).tolist())
    kept = [app for app in before.apps if app.app_id not in ended]
    new = arrivals(kind, before, len(ended), seed=seed, shapes=shapes)
    apps = [attrs.evolve(app, submitted_ms=order) for order, app in enumerate((*kept, *new))]
    return attrs.evolve(before, apps=tuple(apps))


def without(before: Snapshot, lost: Collection[str]) -> Snapshot:
    """Return the snapshot after nodes died, and everything on them."""
    return attrs.evolve(
        before,
        nodes=tuple(node for node in before.nodes if node.node_id not in lost),
        apps=tuple(_bereft(app, lost) for app in before.apps),
    )


def _bereft(app: AppRequest, lost: Collection[str]) -> AppRequest:
    """Return what is left of an application; with less than its minimum it does not run on."""
    left = {node: count for node, count in app.placement.items() if node not in lost}
    roles = {
        name: {node: count for node, count in places.items() if node not in lost}
        for name, places in app.role_placement.items()
    }
    if left == app.placement and roles == app.role_placement:
        return app
    is_whole = roles == app.role_placement and sum(left.values()) >= app.min
    return attrs.evolve(
        app,
        placement=left,
        role_placement=roles,
        is_evicted=not is_whole,
        ran_ms=None,  # it restarts anyway, so it neither rests nor costs another restart
        restart_ms=0,
    )
