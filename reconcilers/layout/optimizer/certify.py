"""Small clusters: the best sizes exactly, and places for just those sizes.

`exact_sizes` solves sizes by node class to the end, which bounds every layout from above. If the
containers also find places on the single nodes, the layout is optimal, and proven to be. Places are
sought in place first (who is disturbed keeps what it can), then anew, each time by best fit in two
orders and by patterns.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.arrange import Candidate, Freedom, arrange
from reconcilers.layout.optimizer.model import Ints, Model
from reconcilers.layout.optimizer.objective import score
from reconcilers.layout.optimizer.packing import Guide, admit_roles, best_fit, spots
from reconcilers.layout.optimizer.sizes import Effort, Sizes, exact_sizes
from reconcilers.layout.optimizer.table import Table, standing, times

NODES_MAX: Final = 64
APPS_MAX: Final = 100
FEW_PLACES: Final = 128  # applications times classes
EFFORT: Final = Effort(nodes_max=200)  # what is not closed by then takes thousands of nodes
LESS_EFFORT: Final = Effort(nodes_max=30, restarts=False)  # of more kinds of nodes little packs
PROVEN: Final = 2e-4  # a layout this near to its bound is called optimal


@attrs.frozen(kw_only=True, eq=False)
class Proof:
    """What the exact path found.

    Attributes:
        bound: No layout is worth more.
        sizes: The exact sizes.
        best: A layout with the exact sizes, or None if they could not be packed.
    """

    bound: float
    sizes: Sizes
    best: Candidate | None


def is_small(model: Model) -> bool:
    """Return whether a problem is small enough to be solved exactly."""
    options = model.snapshot.options
    return options.certify and model.nodes <= NODES_MAX and model.apps <= APPS_MAX


def prove(base: Table, priced: Model, guide: Guide, touches_max: int) -> Proof | None:
    """Return the exact sizes packed, or None if not even the sizes were found.

    Args:
        base: The layout with all that has to change changed; who was placed in it is placed again.
        priced: The problem in which whoever may not be placed is worth nothing.
        guide: Prices, for where to put things.
        touches_max: Running applications that may be disturbed, those changed already included.
    """
    effort = EFFORT if priced.apps * len(priced.classes) <= FEW_PLACES else LESS_EFFORT
    sizes = exact_sizes(priced, touches_max=touches_max, effort=effort)
    if sizes is None:
        return None
    placed = (base.size > 0) & ~base.model.yields
    is_allowed = bool((sizes.size[placed] > 0).all())
    best = _packed(guide, sizes, base.model) if is_allowed else None
    return Proof(bound=sizes.bound, sizes=sizes, best=best)


def suggested(proof: Proof, model: Model) -> dict[int, int]:
    """Return whom the exact sizes disturb, and to what size each shrinks first.

    Where they cannot be packed, that is still a good start.
    """
    sizes = proof.sizes
    ids = np.flatnonzero(sizes.touched & model.running & ~model.rests)
    return dict(zip(ids.tolist(), sizes.size[ids].tolist(), strict=True))


def _packed(guide: Guide, sizes: Sizes, model: Model) -> Candidate | None:
    """Return a layout with exactly these sizes, if one is found."""
    for table in (_emptied(model, sizes, in_place=True), _emptied(model, sizes, in_place=False)):
        short = np.flatnonzero(table.size < sizes.size)
        for order in _orders(model, sizes, short):
            packed = _by_best_fit(table, guide, sizes, order)
            if packed is not None:
                return Candidate(table=packed, score=score(packed))
        packed = _by_patterns(table, guide, sizes, short)
        if packed is not None:
            return Candidate(table=packed, score=score(packed))
    return None


def _emptied(model: Model, sizes: Sizes, *, in_place: bool) -> Table:
    """Return the layout as it is without what is to be placed anew."""
    table = standing(model)
    for app in np.flatnonzero(sizes.touched & (table.size > 0)).tolist():
        if sizes.size[app] == 0:
            table.clear(app)
        elif in_place or table.roles_of(app):
            _keep_by_class(table, app, sizes.by_class[app].tolist())
        else:
            table.clear(app)
    return table


def _keep_by_class(table: Table, app: int, most: list[int]) -> None:
    """Let an application keep at most so many containers of each class, its largest nodes first.

    One that keeps none is placed from nothing, so its fixed roles go as well.
    """
    for node, count in sorted(table.places(app).items(), key=lambda slot: (-slot[1], slot[0])):
        node_class = int(table.model.node_class[node])
        kept = min(count, most[node_class])
        most[node_class] -= kept
        if kept < count:
            table.take(app, {node: count - kept})
    if table.size[app] == 0:
        table.clear(app)


def _orders(model: Model, sizes: Sizes, short: Ints) -> list[list[int]]:
    """Return two orders: the largest containers first, and the largest applications first."""
    one = np.round(model.share[short], 12)
    together = np.round(model.share[short] * sizes.size[short], 12)
    keys = ((short, -sizes.size[short], -one), (short, -together))
    return [short[np.lexsort(key)].tolist() for key in keys]


def _by_best_fit(table: Table, guide: Guide, sizes: Sizes, order: list[int]) -> Table | None:
    after = table.copy()
    for app in order:
        is_new = after.size[app] == 0
        demand, places = table.model.demand[app], after.places(app)
        has = np.zeros(len(guide.nodes), dtype=np.int64)
        for node, count in places.items():
            has[table.model.node_class[node]] += count
        for nodes, count in zip(guide.nodes, (sizes.by_class[app] - has).tolist(), strict=True):
            if count > 0:
                after.put(app, best_fit(nodes, times(after.free[nodes], demand), count))
        after.put(app, spots(after, guide, app, int(sizes.size[app] - after.size[app])))
        if after.size[app] < sizes.size[app] or (is_new and not admit_roles(after, app)):
            return None
    return after


def _by_patterns(table: Table, guide: Guide, sizes: Sizes, short: Ints) -> Table | None:
    waiting = (table.size == 0) & (sizes.size > 0)
    everyone = np.ones(table.model.apps, dtype=bool)
    grows = short[table.size[short] > 0].tolist()
    freedom = Freedom(
        waiting=waiting,
        fixed=everyone,
        chosen={app: int(table.size[app]) for app in grows},
        must=waiting,
        limit=sizes.size,
    )
    after = arrange(table, guide, freedom).table
    return after if bool((after.size == sizes.size).all()) else None
