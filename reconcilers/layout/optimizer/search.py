"""A bounded local search: take a part of a layout apart and put it together again.

Each round releases some of what this decision has placed or changed, and disturbs as many more as
the budget has left; then the same steps as before (`arrange`) place them anew, with more choice
than they had the first time. The better layout stays. Rounds are few and counted by size; they end
as soon as the layout is within `GAP` of its bound, or when several in a row have found nothing.

Source: Shaw, "Using constraint programming and local search methods to solve vehicle routing
problems", CP 1998 (large neighbourhood search).
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.arrange import Candidate, Freedom, arrange
from reconcilers.layout.optimizer.model import Bools, Ints, Model
from reconcilers.layout.optimizer.packing import Guide
from reconcilers.layout.optimizer.table import Table

GAP: Final = 0.003
PATIENCE: Final = 10  # rounds in a row without improvement
ROUNDS: Final = ((32, 48), (128, 12), (512, 5), (2048, 2))  # for up to so many nodes
BETTER: Final = 1e-9


@attrs.frozen(kw_only=True, eq=False)
class Scope:
    """What a search may do.

    Attributes:
        guide: Prices, for where to put things.
        waiting: (A,) who may be placed.
        fixed: (A,) who was changed because it had to be, and is not taken apart.
        touches: Running applications that may be disturbed besides those in `fixed`.
        bound: No layout is worth more.
    """

    guide: Guide
    waiting: Bools
    fixed: Bools
    touches: int
    bound: float


def improve(best: Candidate, scope: Scope) -> Candidate:
    """Return the best layout that a few rounds find."""
    model = best.table.model
    rng = np.random.default_rng(model.snapshot.options.seed)
    failures = 0
    for turn in range(_rounds(model)):
        if failures >= PATIENCE or scope.bound - best.score.value <= GAP * abs(scope.bound):
            break
        found = _again(best.table, scope, rng, turn)
        failures += 1
        if found is not None and found.score.value > best.score.value + BETTER:
            best, failures = found, 0
    return best


def _rounds(model: Model) -> int:
    if model.snapshot.options.search_rounds >= 0:
        return model.snapshot.options.search_rounds
    return next((rounds for nodes, rounds in ROUNDS if model.nodes <= nodes), 0)


def _again(table: Table, scope: Scope, rng: np.random.Generator, turn: int) -> Candidate | None:
    """Return the layout after releasing and placing a part once more, if it keeps the rules."""
    model, base = table.model, table.copy()
    released = _new(table, scope, rng, turn)
    for app in released.tolist():
        base.clear(app)
    touched = table.touched() & ~scope.fixed
    changed = rng.permutation(np.flatnonzero(touched))
    half = len(changed) // 2 if turn % 2 else len(changed)
    if turn % 4 == 3:  # noqa: PLR2004 - one round in four
        for app in changed[half:].tolist():
            base.restore(app)  # Someone else may deserve the restart more.
    left = scope.touches - int((base.touched() & ~scope.fixed).sum())
    others = _others(base, scope, rng, turn)[: max(left, 0)]
    loose = [*changed[:half].tolist(), *others.tolist()]
    must = np.zeros(model.apps, dtype=bool)
    for app in loose:
        if turn % 2 or base.roles_of(app):
            base.shrink(app, int(model.low[app]))
        else:
            base.clear(app)
            must[app] = True
    freedom = Freedom(
        waiting=scope.waiting | must,
        fixed=scope.fixed,
        chosen={app: int(base.size[app]) for app in loose if not must[app]},
        touches=scope.touches,
        must=must,
    )
    found = arrange(base, scope.guide, freedom)
    keeps = (found.table.size >= model.low) | ~model.running
    within = int((found.table.touched() & ~scope.fixed).sum()) <= scope.touches
    return found if within and bool(keeps.all()) else None


def _new(table: Table, scope: Scope, rng: np.random.Generator, turn: int) -> Ints:
    """Return those placed by this decision that are released: all of them, or a third."""
    new = np.flatnonzero(scope.waiting & (table.size > 0) & ~scope.fixed)
    if turn % 4 == 0 and table.model.running.any():
        return new
    return np.sort(rng.permutation(new)[: max(2, len(new) // 3)])


def _others(table: Table, scope: Scope, rng: np.random.Generator, turn: int) -> Ints:
    """Return undisturbed applications to disturb: those furthest above fair, or any."""
    model = table.model
    ids = np.flatnonzero(model.running & ~model.rests & ~table.touched() & ~scope.fixed)
    if turn % 3:
        return rng.permutation(ids)
    over = np.round(model.share[ids] * table.size[ids] - model.fair[ids], 9)
    return ids[np.argsort(-over, kind="stable")]
