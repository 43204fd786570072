"""Distinct demands: a pattern counts containers by shape, not by application.

Hundreds of applications that ask for equal containers are one row of the pattern program. Where
nearly everyone asks for something of its own, shapes are made: demands are rounded up so that at
most `SHAPES_MAX` remain, each as large as the largest of its members in every resource. A node
that has room for the shapes has room for the members.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import Floats, Ints, Model
from reconcilers.layout.optimizer.request import FillRequest

SHAPES_MAX: Final = 150


@attrs.frozen(kw_only=True, eq=False)
class Shapes:
    """The shapes of a request.

    Attributes:
        demand: (S, R).
        of_app: (A,) shape of the elastic containers; -1 of whoever is not in the request.
        of_role: Shape of each role of the model; -1 of those not to be placed.
        is_exact: Whether every demand is its shape.
    """

    demand: Ints
    of_app: Ints
    of_role: Ints
    is_exact: bool


def distinct(rows: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows in ascending order, and which of them each row is."""
    order = np.lexsort(rows.T[::-1])
    if not len(order):
        return rows, order
    ordered = rows[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def shapes_of(model: Model, request: FillRequest) -> Shapes:
    """Return the shapes of a request, few enough for the pattern program."""
    fresh = np.zeros(model.apps, dtype=bool)
    fresh[request.apps] = request.kept[request.apps] == 0
    roles = [index for index, role in enumerate(model.roles) if fresh[role.app]]
    demand = np.vstack([model.demand[request.apps], *(model.roles[i].demand for i in roles)])
    rows, which = distinct(demand)
    is_exact = len(rows) <= SHAPES_MAX
    if not is_exact:
        wanted = np.zeros(len(rows))
        np.add.at(wanted, which[: len(request.apps)], _most(model, request))
        cell = cells(rows / np.maximum(model.total, 1), wanted + 1.0)
        largest = np.zeros((int(cell.max()) + 1, rows.shape[1]), dtype=np.int64)
        np.maximum.at(largest, cell, rows)
        rows, which = largest, cell[which]
    of_app = np.full(model.apps, -1, dtype=np.int64)
    of_app[request.apps] = which[: len(request.apps)]
    of_role = np.full(len(model.roles), -1, dtype=np.int64)
    of_role[roles] = which[len(request.apps) :]
    return Shapes(demand=rows, of_app=of_app, of_role=of_role, is_exact=is_exact)


def _most(model: Model, request: FillRequest) -> Ints:
    """Return how many containers each application of a request may still get."""
    upper = model.high[request.apps]
    if request.limit is not None:
        upper = np.minimum(upper, request.limit[request.apps])
    most: Ints = np.maximum(upper - request.kept[request.apps], 0)
    return most


def cells(demand: Floats, wanted: Floats) -> Ints:
    """Return which of at most `SHAPES_MAX` cells of similar demands each demand is in.

    Rounding all members up to the largest wastes `sum_i wanted_i * (largest - demand_i)`. From one
    cell of them all, the cut that saves most of this waste is made, in two along one resource,
    until there are enough cells.

    Args:
        demand: (N, R) as shares of the cluster.
        wanted: (N,) how often each may be placed.
    """
    members = [np.arange(len(demand))]
    cuts = [_best_cut(demand, wanted, members[0])]
    while len(members) < SHAPES_MAX:
        index = max(range(len(cuts)), key=lambda cell: cuts[cell].saves)
        if cuts[index].saves <= 0:
            break
        halves = [cuts[index].below, cuts[index].above]
        members[index : index + 1] = halves
        cuts[index : index + 1] = [_best_cut(demand, wanted, half) for half in halves]
    cell = np.empty(len(demand), dtype=np.int64)
    for index, rows in enumerate(members):
        cell[rows] = index
    return cell


@attrs.frozen(eq=False)
class _Cut:
    """A cell cut in two, and how much less is wasted then."""

    saves: float
    below: Ints
    above: Ints


def _best_cut(demand: Floats, wanted: Floats, members: Ints) -> _Cut:
    best = _Cut(0.0, members, members[:0])
    for resource in range(demand.shape[1]):
        order = members[np.argsort(demand[members, resource], kind="stable")]
        rows, count = demand[order], wanted[order]
        below = np.maximum.accumulate(rows, axis=0)
        above = np.maximum.accumulate(rows[::-1], axis=0)[::-1]
        many = np.cumsum(count)[:, None]
        whole = below[-1] * many[-1]
        split = (whole - below[:-1] * many[:-1] - above[1:] * (many[-1] - many[:-1])).sum(axis=1)
        if len(split) and split.max() > best.saves * (1 + 1e-9):
            at = int(split.argmax()) + 1
            best = _Cut(float(split[at - 1]), order[:at], order[at:])
    return best
