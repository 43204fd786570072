"""A decision as plain data: the layout by ids, how good it is, and why everyone has what it has."""

from collections.abc import Mapping
from typing import Final

import highspy
import numpy as np

from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.arrange import Candidate
from reconcilers.layout.optimizer.forced import Case
from reconcilers.layout.optimizer.named import by_name
from reconcilers.layout.optimizer.table import Table
from reconcilers.layout.optimizer.verdicts import verdicts

ALGORITHM: Final = "optimizer/1"
SOLVER: Final = (
    highspy.HIGHS_VERSION_MAJOR,
    highspy.HIGHS_VERSION_MINOR,
    highspy.HIGHS_VERSION_PATCH,
)
VERSION: Final = f"{ALGORITHM} highs/{'.'.join(map(str, SOLVER))}"


def report(case: Case, best: Candidate, bound: float) -> Decision:
    """Return the decision for a layout."""
    table, model = best.table, best.table.model
    apps = model.snapshot.apps
    had_places = [app for app in table.changed() if model.old_size[app] > 0]
    left = model.touches_max + case.forced - best.score.touches
    return Decision(
        placements=_placements(table),
        role_placements=_role_placements(table),
        objective=best.score.value,
        bound=bound,
        gap=max(0.0, bound - best.score.value) / abs(bound) if bound else 0.0,
        loss=best.score.loss,
        loss_bound=model.loss_max,
        touched=tuple(apps[app].app_id for app in had_places if table.size[app] > 0),
        touches_max=model.touches_max,
        released=tuple(apps[app].app_id for app in had_places if table.size[app] == 0),
        prices=by_name(model, case.full.prices),
        verdicts=verdicts(table, case.guide, left),
        version=VERSION,
    )


def _placements(table: Table) -> Mapping[str, Mapping[str, int]]:
    """Return elastic containers by application and node id, in the order of the snapshot."""
    snapshot, index = table.model.snapshot, table.model.old.app
    known = np.bincount(index, minlength=table.model.apps).tolist()
    found: dict[str, Mapping[str, int]] = {}
    for app, (request, size) in enumerate(zip(snapshot.apps, table.size.tolist(), strict=True)):
        if size and not table.is_moved(app) and known[app] == len(request.placement):
            found[request.app_id] = dict(request.placement)  # most of them, and most of the work
        elif size:
            slots = sorted(table.places(app).items())
            found[request.app_id] = {snapshot.nodes[node].node_id: many for node, many in slots}
    return found


def _role_placements(table: Table) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    snapshot = table.model.snapshot
    found: dict[str, dict[str, dict[str, int]]] = {}
    for index, role in enumerate(table.model.roles):
        places = table.role_places(index)
        if places and table.size[role.app] > 0:
            by_node = {snapshot.nodes[node].node_id: many for node, many in sorted(places.items())}
            found.setdefault(snapshot.apps[role.app].app_id, {})[role.name] = by_node
    return found
