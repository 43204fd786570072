"""Places applications, and lets them grow, in the room that all others leave.

The pattern program (`patterns`) decides how many containers of each shape are worth their room,
together with what one node holds; rounding makes whole nodes of it (`rounding`), and dealing makes
applications of the containers (`dealing`, `places`).
"""

import math
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.dealing import deal_sizes
from reconcilers.layout.optimizer.groups import group
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Model, Places
from reconcilers.layout.optimizer.patterns import Task, generate
from reconcilers.layout.optimizer.places import deal_places
from reconcilers.layout.optimizer.request import Filling, FillRequest, RolePlace
from reconcilers.layout.optimizer.rounding import whole_nodes
from reconcilers.layout.optimizer.segments import Segments, cut
from reconcilers.layout.optimizer.shapes import distinct, shapes_of
from reconcilers.layout.optimizer.trim import trim

__all__ = ["FillRequest", "Filling", "RolePlace", "after", "fill"]

_NONE: Final = np.zeros(0, dtype=np.int64)
SMALL: Final = 128  # so many nodes are settled in several dives
NOTHING: Final = Places(app=_NONE, node=_NONE, count=_NONE)


def fill(model: Model, request: FillRequest) -> Filling:
    """Return containers to add, within the room and all bounds of sizes.

    An application that is placed from nothing gets its minimum and its fixed roles, or nothing.
    On few nodes rounding costs much: there only what the program says of whole nodes is settled,
    and the program is solved again for the rest (diving). Where shapes are only rounded demands,
    a second round fills the room that this wastes.
    """
    shapes = shapes_of(model, request)
    segments = cut(model, request, shapes)
    least = 1 if shapes.is_exact else 2
    dives = max(least, request.dives) if _nodes_open(model, request) <= SMALL else least
    filling = _fill(model, request, every=dives == 1)
    for left in reversed(range(1, dives)):
        if left == 1:
            filling = _trimmed(model, request, segments, filling)
        homes = _joined(model.old, filling.added)
        more = _fill(model, after(model, request, filling), every=left == 1, homes=homes)
        filling = _both(filling, more)
    filling = _trimmed(model, request, segments, filling)
    if filling.unmet and len(filling.unmet) < len(request.apps):
        return attrs.evolve(_must_first(model, request), bound=filling.bound)
    return filling


def _nodes_open(model: Model, request: FillRequest) -> int:
    least = model.demand[request.apps].min(axis=0, initial=1 << 50)
    return int((request.free >= least).all(axis=1).sum())


def _trimmed(model: Model, request: FillRequest, segments: Segments, filling: Filling) -> Filling:
    return attrs.evolve(filling, added=trim(model, request, segments, filling.added))


def after(model: Model, request: FillRequest, filling: Filling) -> FillRequest:
    """Return the request that is left once a filling is carried out."""
    free = request.free.copy()
    added = filling.added
    np.subtract.at(free, added.node, model.demand[added.app] * added.count[:, None])
    for place in filling.roles:
        free[place.node] -= model.roles[place.role].demand * place.count
    kept = request.kept.copy()
    np.add.at(kept, added.app, added.count)
    return attrs.evolve(request, free=free, kept=kept, certify=False)


def _must_first(model: Model, request: FillRequest) -> Filling:
    """Return the filling where those that have to be placed go first, with their minimums alone."""
    must = (request.kept == 0) & request.must
    limit = model.high if request.limit is None else request.limit
    alone = attrs.evolve(
        request,
        apps=request.apps[must[request.apps]],
        limit=np.where(must, np.minimum(model.low, limit), limit),
        certify=False,
    )
    placed = _fill(model, alone, every=True)
    rest = attrs.evolve(after(model, request, placed), must=np.zeros_like(request.must))
    return _both(placed, fill(model, rest))


def _both(first: Filling, second: Filling) -> Filling:
    """Return two fillings as one; in the second one somebody unmet may have got a place."""
    met = {int(app) for app in second.added.app.tolist()}
    return Filling(
        added=_joined(first.added, second.added),
        roles=tuple(
            sorted((*first.roles, *second.roles), key=lambda place: (place.role, place.node))
        ),
        unmet=tuple(app for app in first.unmet if app not in met),
        bound=first.bound,
        value=second.value,
        patterns=first.patterns + second.patterns,
        rounds=first.rounds + second.rounds,
    )


def _joined(first: Places, second: Places) -> Places:
    """Return the containers of both."""
    pairs, which = distinct(
        np.stack(
            [
                np.concatenate([first.app, second.app]),
                np.concatenate([first.node, second.node]),
            ],
            axis=1,
        )
    )
    count = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(count, which, np.concatenate([first.count, second.count]))
    return Places(app=pairs[:, 0], node=pairs[:, 1], count=count)


def _fill(
    model: Model, request: FillRequest, *, every: bool, homes: Places | None = None
) -> Filling:
    shapes = shapes_of(model, request)
    segments = cut(model, request, shapes)
    groups = group(request.free, model.order, shapes.demand)
    room_for_loss = model.loss_max - segments.base_loss
    is_empty = not len(segments.app) or not len(groups.count)
    solution = None
    if not is_empty:
        solution = generate(
            Task(
                shapes=shapes,
                segments=segments,
                groups=groups,
                room_for_loss=room_for_loss,
                certify=request.certify and shapes.is_exact,
                rounds_max=request.rounds_max,
            )
        )
    if solution is None:
        value = segments.base_gain - EXCESS_PRICE * max(0.0, -room_for_loss)
        return Filling(
            added=NOTHING,
            unmet=tuple(segments.app[segments.must].tolist()),
            bound=value if is_empty else math.inf,
            value=value,
        )
    rank = np.empty_like(model.order)
    rank[model.order] = np.arange(len(rank))
    slots = whole_nodes(solution, groups, segments.most(len(shapes.demand)), rank, every=every)
    available = np.zeros(len(shapes.demand), dtype=np.int64)
    np.add.at(available, slots.shape, slots.count)
    taken = deal_sizes(segments, available, solution.prices.loss)
    added, roles = deal_places(model, shapes, segments, taken, slots, homes or model.old)
    return Filling(
        added=added,
        roles=roles,
        unmet=tuple(segments.app[segments.must & (taken == 0)].tolist()),
        bound=solution.bound,
        value=solution.value,
        patterns=len(solution.patterns),
        rounds=solution.rounds,
    )
