"""Higher tiers before lower ones.

An application *yields* when its room is due to others of a higher tier: it stands, but the
minimums of those fill the cluster without it. It loses its places only if one of them is placed
thereby. Tier by tier, the highest first: what waits is placed at its minimum into the free room; if
that leaves somebody out, all yielding applications of lower tiers are lifted, who waits is placed
again, and of those lifted every one that still fits where it was goes back, the higher tiers and
the older first. Who does not may be placed in what room is left then.
"""

import numpy as np

from reconcilers.layout.optimizer.arrange import Freedom, arrange
from reconcilers.layout.optimizer.model import Bools
from reconcilers.layout.optimizer.packing import Guide, admit
from reconcilers.layout.optimizer.table import Table


def give_way(base: Table, guide: Guide, waiting: Bools) -> Table:
    """Return the layout in which higher tiers have taken their minimums from lower ones.

    Args:
        base: The layout as it is; it stays.
        guide: Prices, for where to put things.
        waiting: (A,) who may be placed.
    """
    model, table = base.model, base
    lowest = int(model.tier[model.yields].min(initial=np.iinfo(np.int64).max))
    due = waiting & model.entitled & (model.tier > lowest)
    for tier in sorted(set(model.tier[due].tolist()), reverse=True):
        table = _one_tier(table, guide, due & (model.tier == tier), tier)
    return table


def _one_tier(base: Table, guide: Guide, due: Bools, tier: int) -> Table:
    model = base.model
    free = _at_minimum(base, guide, due)
    unmet = due & (free.size == 0)
    if not unmet.any():
        return free
    lifted = free.copy()
    ids = np.flatnonzero(model.yields & (model.tier < tier) & (free.size > 0))
    for app in ids.tolist():
        lifted.clear(app)
    after = _at_minimum(lifted, guide, unmet)
    if not (unmet & (after.size > 0)).any():
        return free
    is_lifted = np.isin(np.arange(model.apps), ids)
    lifted_ids = guide.seniority[is_lifted[guide.seniority]].tolist()
    homeless = [app for app in lifted_ids if not after.restore(app)]
    for app in homeless:
        admit(after, guide, app, int(model.low[app]))
    return after


def _at_minimum(table: Table, guide: Guide, waiting: Bools) -> Table:
    """Return the layout with as many as possible of those that wait, none above its minimum."""
    limit, fixed = np.maximum(table.size, table.model.low), table.touched()
    freedom = Freedom(waiting=waiting, fixed=fixed, must=waiting, limit=limit)
    return arrange(table, guide, freedom).table
