"""Small clusters, node by node: the last improvement of a layout by an integer program.

Exact sizes (`sizes`) need not pack where containers are large and nodes few. The same program with
every node a class of its own knows what packs, but has too many integers to be solved to the end.
So it is made small: only those who wait, those whom the layout disturbs and those whom the prices
or the exact sizes would like to disturb may change, all others stay. It starts from the layout, and
only a better one is looked for, at the root of the search tree.

Source: Danna, Rothberg, Le Pape, "Exploring relaxation induced neighborhoods to improve MIP
solutions", 2005: fixed is what layout and relaxation agree on.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.arrange import Candidate
from reconcilers.layout.optimizer.model import Bools, Floats, Model
from reconcilers.layout.optimizer.objective import score
from reconcilers.layout.optimizer.request import RolePlace
from reconcilers.layout.optimizer.sizes import Effort, Sizes, exact_sizes
from reconcilers.layout.optimizer.table import Table, standing

NODES_MAX: Final = 32
APPS_MAX: Final = 64
COLUMNS_MAX: Final = 700  # places that may change
EFFORT: Final = Effort(nodes_max=1, gap=1e-3, restarts=False)  # the first node finds most of it


def is_tiny(model: Model) -> bool:
    """Return whether a problem is small enough to be polished."""
    options = model.snapshot.options
    return options.certify and model.nodes <= NODES_MAX and model.apps <= APPS_MAX


def polish(best: Candidate, waiting: Bools, weight: Floats, touches_max: int) -> Candidate | None:
    """Return a better layout, or None if none was found.

    Args:
        best: The layout to start from.
        waiting: (A,) who may be placed.
        weight: (A,) how much each application's change is wanted: by prices, or by the exact sizes.
        touches_max: Running applications that may be disturbed.
    """
    model = best.table.model
    may = _may_change(best.table, waiting, weight)
    if not may.any():
        return None
    single = _by_node(model, ~may)
    found = exact_sizes(
        single, touches_max=touches_max, effort=EFFORT, start=_as_sizes(best.table, single)
    )
    if found is None:
        return None
    table = _laid_out(found, model)
    return Candidate(table=table, score=score(table))


def _may_change(table: Table, waiting: Bools, weight: Floats) -> Bools:
    """Return (A,) who may change: as many as there are columns for, the likeliest first."""
    model = table.model
    touched = table.touched()
    free = waiting | touched
    room = COLUMNS_MAX // max(model.nodes, 1) - int(free.sum())
    ids = np.flatnonzero(model.running & ~model.rests & ~touched & (weight > 0))
    ids = ids[np.lexsort((ids, -np.round(weight[ids], 7)))][: max(room, 0)]
    free[ids] = True
    return free


def _by_node(model: Model, rests: Bools) -> Model:
    """Return the model with every node a class of its own, and in which some stay as they are."""
    by_node = np.zeros((model.apps, model.nodes), dtype=np.int64)
    by_node[model.old.app, model.old.node] = model.old.count
    return attrs.evolve(
        model,
        node_class=np.arange(model.nodes),
        classes=model.room,
        class_room=model.room,
        class_nodes=np.ones(model.nodes, dtype=np.int64),
        old_class=by_node,
        rests=model.rests | rests,
    )


def _as_sizes(table: Table, single: Model) -> Sizes:
    by_node = np.zeros((single.apps, single.nodes), dtype=np.int64)
    places, touched = table.all_places(), table.touched()
    by_node[places.app, places.node] = places.count
    roles = np.zeros((len(single.roles), single.nodes), dtype=np.int64)
    for index, role in enumerate(single.roles):
        if table.size[role.app] and (not single.running[role.app] or touched[role.app]):
            for node, count in table.role_places(index).items():
                roles[index, node] = count
    return Sizes(
        bound=np.inf,
        value=-np.inf,
        size=table.size,
        by_class=by_node,
        touched=touched,
        role_by_class=roles,
    )


def _laid_out(sizes: Sizes, model: Model) -> Table:
    """Return the layout that has these sizes on every node."""
    table = standing(model)
    is_new = (table.size == 0) & (sizes.size > 0)
    changed = np.flatnonzero(sizes.touched | is_new).tolist()
    for app in changed:
        table.clear(app)
    for app in changed:
        nodes = np.flatnonzero(sizes.by_class[app])
        table.put(app, dict(zip(nodes.tolist(), sizes.by_class[app, nodes].tolist(), strict=True)))
        for index in table.roles_of(app):
            row = sizes.role_by_class[index]
            table.put_roles(
                RolePlace(role=index, node=node, count=int(row[node]))
                for node in np.flatnonzero(row).tolist()
            )
    return table
