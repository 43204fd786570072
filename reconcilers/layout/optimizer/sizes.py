"""Exact sizes: how many containers of which application on which class of nodes.

Nodes of equal capacity are taken together, so a small cluster has a few hundred integers, whatever
the number of its nodes, and is solved to the end. What this leaves open is whether the containers
of a class also fit on its single nodes: the value is an upper bound on every layout, and the
optimum if the sizes can be packed.

An application that has a place either keeps it or is placed anew; one without a place either
waits or is placed. With t_i = 1 for placed anew, z_ic of its containers on class c, n_i their sum,
l_i = 1 for losing everything (only if it yields), `base` for keeping the place or waiting, and
gain and loss of a change as the lower and upper envelope of their linear pieces:

    max   sum_i [ base_gain_i (1 - t_i - l_i) + gain_zero_i l_i + G_i - touch_cost_i t_i ]
          - EXCESS_PRICE * e
    s.t.  low_i t_i <= n_i <= high_i t_i                                          for each i
          G_i <= slope * n_i + height * t_i                       for each piece of its gain
          L_i >= slope * n_i + height * t_i                       for each piece of its loss
          sum_c y_kc = count_k t_i                              for each fixed role k of i
          sum_i demand_ir z_ic + sum_k demand_kr y_kc
            + sum_i base_room_icr (1 - t_i - l_i) <= class_room_cr           for each c, r
          sum_i [ base_loss_i (1 - t_i - l_i) + loss_zero_i l_i + L_i ] - e <= F
          sum_{i running} t_i <= K
          t, l binary,  z, y >= 0 integer,  L, e >= 0

For every single application this is the convex hull of its choices, so the linear relaxation is as
tight as its parts allow. Its dual is what `prices` solves.

Source: the layout problem of Sun et al., "Dorm", 2017, aggregated over equal nodes; the convex hull
of a choice as in Balas, "Disjunctive programming", 1979.
"""

import math
from typing import Final

import attrs
import highspy
import numpy as np
from numpy.typing import NDArray

from reconcilers.layout.optimizer.matrix import Matrix
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Bools, Floats, Ints, Model
from reconcilers.layout.optimizer.relaxed import Relaxed, relax
from reconcilers.layout.optimizer.solver import Solver

SAME: Final = 1e-7  # slopes that differ by less are one, in the solver's unit of gain


@attrs.frozen(kw_only=True)
class Effort:
    """When the solver stops.

    Attributes:
        nodes_max: Of the search tree; 1 for little more than the linear relaxation.
        gap: To the bound, as a part of the value.
        restarts: Whether it may presolve once more what the root has made smaller.
    """

    nodes_max: int = 3000
    gap: float = 1e-4
    restarts: bool = True


@attrs.frozen(kw_only=True, eq=False)
class Sizes:
    """Sizes that are best if they can be packed.

    Attributes:
        bound: No layout is worth more.
        value: What these sizes are worth.
        size: (A,) elastic containers, as they are now of those that are not touched.
        by_class: (A, C) the same by class.
        touched: (A,) is placed anew, or loses everything.
        role_by_class: (N, C) containers of each fixed role of whoever is placed anew.
    """

    bound: float
    value: float
    size: Ints
    by_class: Ints
    touched: Bools
    role_by_class: Ints


def exact_sizes(
    model: Model,
    *,
    touches_max: int | None = None,
    effort: Effort = Effort(),
    start: Sizes | None = None,
) -> Sizes | None:
    """Return the best sizes, or None if none were found with so much effort.

    Args:
        model: The problem; up to a hundred applications and a handful of classes take a second.
        touches_max: Another touch budget than the model's.
        effort: When to stop.
        start: Sizes that are known to be possible; only better ones are looked for.
    """
    if not model.apps or not model.nodes:
        return None
    choice = _choices(relax(model, model.touches_max if touches_max is None else touches_max))
    solver = Solver()
    solver.setOptionValue("mip_max_nodes", effort.nodes_max)
    solver.setOptionValue("mip_rel_gap", effort.gap)
    solver.setOptionValue("mip_allow_restart", effort.restarts)
    solver.passModel(_program(choice))
    if start is not None:
        columns, values = _as_values(choice, start)
        solver.setSolution(len(columns), columns, values)
    solver.run()
    info = solver.getInfo()
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    values = np.array(solver.getSolution().col_value)
    return _sizes(choice, values, info.mip_dual_bound, info.objective_function_value)


def relaxation(model: Model, *, touches_max: int | None = None) -> float:
    """Return the bound of the linear relaxation: what `prices` comes close to much faster."""
    choice = _choices(relax(model, model.touches_max if touches_max is None else touches_max))
    program = _program(choice)
    program.integrality_ = []
    solver = Solver()
    solver.passModel(program)
    solver.run()
    return float(solver.getInfo().objective_function_value) / choice.scale


@attrs.frozen(kw_only=True, eq=False)
class _Choices:
    """The columns of the program, and whose they are.

    Attributes:
        change, leave: (A,) columns of t and l.
        gain, loss: (A,) columns of G and L.
        place: (Z,) columns of z, with the application `app` and class `node_class` of each.
        role_place: (Y,) columns of y, with `role` and `role_class` of each.
        excess: Column of e.
        scale: The solver's unit of gain is `1 / scale`: about one container, so that its
            tolerances mean the same whatever the size of the cluster.
    """

    relaxed: Relaxed
    change: Ints
    leave: Ints
    gain: Ints
    loss: Ints
    place: Ints
    app: Ints
    node_class: Ints
    role_place: Ints
    role: Ints
    role_class: Ints
    excess: int
    scale: float


def _choices(relaxed: Relaxed) -> _Choices:
    model = relaxed.model
    app, node_class = np.nonzero(relaxed.fits[relaxed.shape])
    role, role_class = np.nonzero(relaxed.fits[relaxed.role_shape])
    parts = np.cumsum([*[model.apps] * 4, len(app), len(role)])
    change, leave, gain, loss, place, role_place, (excess,) = np.split(
        np.arange(parts[-1] + 1), parts
    )
    return _Choices(
        relaxed=relaxed,
        change=change,
        leave=leave,
        gain=gain,
        loss=loss,
        place=place,
        app=app,
        node_class=node_class,
        role_place=role_place,
        role=role,
        role_class=role_class,
        excess=int(excess),
        scale=1.0 / max(float(np.sort(model.share)[model.apps // 2]), 1e-9),
    )


def _program(choice: _Choices) -> highspy.HighsLp:
    matrix = Matrix()
    _add_hulls(matrix, choice)
    _add_rooms(matrix, choice)
    _add_fairness(matrix, choice)
    _add_budget(matrix, choice)
    program = matrix.program(columns=choice.excess + 1)
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_, program.offset_ = _objective(choice)
    lower = np.zeros(choice.excess + 1)
    lower[choice.gain] = -np.inf
    program.col_lower_ = lower
    program.col_upper_ = _upper(choice)
    kinds = np.zeros(choice.excess + 1, dtype=bool)
    for columns in (choice.change, choice.leave, choice.place, choice.role_place):
        kinds[columns] = True
    integer, real = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    program.integrality_ = [integer if is_integer else real for is_integer in kinds.tolist()]
    return program


def _objective(choice: _Choices) -> tuple[Floats, float]:
    model = choice.relaxed.model
    base = np.where(choice.relaxed.may_keep, model.gain_old, model.gain_zero)
    cost = np.zeros(choice.excess + 1)
    cost[choice.change] = -base - model.touch_cost
    cost[choice.leave] = model.gain_zero - base
    cost[choice.gain] = 1.0
    cost[choice.excess] = -EXCESS_PRICE
    return cost * choice.scale, math.fsum(base.tolist()) * choice.scale


def _upper(choice: _Choices) -> Floats:
    relaxed, model = choice.relaxed, choice.relaxed.model
    upper = np.full(choice.excess + 1, np.inf)
    upper[choice.change] = relaxed.may_change
    upper[choice.leave] = relaxed.may_keep & relaxed.may_leave
    most = _most(model.demand[choice.app], choice.node_class, model)
    upper[choice.place] = np.minimum(most, model.high[choice.app])
    role_demand = relaxed.shapes[relaxed.role_shape[choice.role]]
    upper[choice.role_place] = _most(role_demand, choice.role_class, model)
    return upper


def _most(demand: Ints, node_class: Ints, model: Model) -> Ints:
    """Return how many containers of each demand the nodes of a class hold, if nothing else."""
    most = np.zeros(len(demand), dtype=np.int64)
    for room, its_class in zip(model.room, model.node_class, strict=True):
        each = np.where(demand > 0, room // np.maximum(demand, 1), np.iinfo(np.int64).max)
        most += np.where(node_class == its_class, each.min(axis=1), 0)
    return most


def _add_hulls(matrix: Matrix, choice: _Choices) -> None:
    """Tie sizes, gains, losses and fixed roles to changes."""
    relaxed, model = choice.relaxed, choice.relaxed.model
    zero, infinite = np.zeros(model.apps), np.full(model.apps, np.inf)
    rows = matrix.rows(-infinite, zero)
    matrix.put(rows[choice.app], choice.place, 1.0)
    matrix.put(rows, choice.change, -model.high)
    rows = matrix.rows(-infinite, zero)
    matrix.put(rows[choice.app], choice.place, -1.0)
    matrix.put(rows, choice.change, model.low)
    _add_pieces(matrix, choice, model.gain, choice.gain, 1.0)
    _add_pieces(matrix, choice, model.loss, choice.loss, -1.0)
    zero = np.zeros(len(relaxed.role_app))
    rows = matrix.rows(zero, zero)
    matrix.put(rows[choice.role], choice.role_place, 1.0)
    matrix.put(rows, choice.change[relaxed.role_app], -relaxed.role_count)


def _add_pieces(
    matrix: Matrix, choice: _Choices, height: Floats, column: Ints, sign: float
) -> None:
    """Bound a value by its linear pieces: from above if `sign` is 1, from below if it is -1."""
    model = choice.relaxed.model
    app, slope, at_zero = _pieces(model.points, height, same=SAME / choice.scale)
    rows = matrix.rows(np.full(len(app), -np.inf), np.zeros(len(app)))
    matrix.put(rows, column[app], sign)
    matrix.put(rows, choice.change[app], -sign * at_zero)
    of_app = np.full((model.apps, len(model.classes)), -1)
    of_app[choice.app, choice.node_class] = choice.place
    for place in of_app[app].T:
        fits = place >= 0
        matrix.put(rows[fits], place[fits], -sign * slope[fits])


def _pieces(points: Ints, height: Floats, *, same: float) -> tuple[Ints, Floats, Floats]:
    """Return application, slope and height at zero of each linear piece between the points.

    Pieces that go on in one line count once. Whoever has only one size gets one flat piece.
    """
    steps = np.diff(points, axis=0)
    slopes = np.diff(height, axis=0) / np.maximum(steps, 1)
    alone = np.flatnonzero(points[0] == points[-1])
    found = [(alone, np.zeros(len(alone)), height[0, alone])]
    before = np.full(points.shape[1], np.inf)
    for piece, slope in enumerate(slopes):
        is_new = (steps[piece] > 0) & (np.abs(slope - before) > same)
        ids = np.flatnonzero(is_new)
        found.append((ids, slope[ids], height[piece, ids] - slope[ids] * points[piece, ids]))
        before = np.where(is_new, slope, before)
    app, slope, at_zero = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return app, slope, at_zero


def _add_rooms(matrix: Matrix, choice: _Choices) -> None:
    """Let nobody take more of a class than it has."""
    relaxed, model = choice.relaxed, choice.relaxed.model
    kept = np.where(relaxed.may_keep[:, None, None], relaxed.old_room, 0)
    left = model.class_room - kept.sum(axis=0)
    role_demand = relaxed.shapes[relaxed.role_shape[choice.role]]
    for resource in range(model.demand.shape[1]):
        unit = 1 << int(relaxed.shapes[:, resource].max()).bit_length()  # a power of 2: exact
        rows = matrix.rows(np.full(len(left), -np.inf), left[:, resource] / unit)
        demand = model.demand[choice.app, resource] / unit
        matrix.put(rows[choice.node_class], choice.place, demand)
        matrix.put(rows[choice.role_class], choice.role_place, role_demand[:, resource] / unit)
        app, its_class = np.nonzero(kept[:, :, resource])
        freed = -kept[app, its_class, resource] / unit
        matrix.put(rows[its_class], choice.change[app], freed)
        matrix.put(rows[its_class], choice.leave[app], freed)


def _add_fairness(matrix: Matrix, choice: _Choices) -> None:
    model, scale = choice.relaxed.model, choice.scale
    base = np.where(choice.relaxed.may_keep, model.loss_old, model.loss_zero)
    room = model.loss_max - math.fsum(base.tolist())
    (row,) = matrix.rows(np.array([-np.inf]), np.array([room * scale]))
    matrix.put(row, choice.loss, scale)
    matrix.put(row, choice.change, -base * scale)
    matrix.put(row, choice.leave, (model.loss_zero - base) * scale)
    matrix.put(row, np.array([choice.excess]), -scale)


def _add_budget(matrix: Matrix, choice: _Choices) -> None:
    most = np.array([float(choice.relaxed.touches_max)])
    (row,) = matrix.rows(np.array([-np.inf]), most)
    matrix.put(row, choice.change[choice.relaxed.counted], 1.0)


def _as_values(choice: _Choices, sizes: Sizes) -> tuple[NDArray[np.int32], Floats]:
    """Return the integer columns, and their values that make these sizes."""
    keeps = choice.relaxed.may_keep & ~sizes.touched
    changes, leaves = ~keeps & (sizes.size > 0), choice.relaxed.may_keep & (sizes.size == 0)
    place = np.where(changes[:, None], sizes.by_class, 0)
    values = (
        (choice.change, changes),
        (choice.leave, leaves),
        (choice.place, place[choice.app, choice.node_class]),
        (choice.role_place, sizes.role_by_class[choice.role, choice.role_class]),
    )
    columns = np.concatenate([column for column, _ in values]).astype(np.int32)
    return columns, np.concatenate([value for _, value in values]).astype(np.float64)


def _sizes(choice: _Choices, values: Floats, bound: float, value: float) -> Sizes:
    relaxed, model = choice.relaxed, choice.relaxed.model
    changes = values[choice.change] > 0.5  # noqa: PLR2004 - binary, up to rounding
    leaves = values[choice.leave] > 0.5  # noqa: PLR2004
    by_class = np.zeros((model.apps, len(model.classes)), dtype=np.int64)
    by_class[choice.app, choice.node_class] = np.rint(values[choice.place]).astype(np.int64)
    role_by_class = np.zeros((len(model.roles), len(model.classes)), dtype=np.int64)
    roles = np.rint(values[choice.role_place]).astype(np.int64)
    role_by_class[choice.role, choice.role_class] = roles
    keeps = relaxed.may_keep & ~changes & ~leaves
    by_class[keeps] = model.old_class[keeps]
    has_place = relaxed.may_keep
    return Sizes(
        bound=bound / choice.scale,
        value=value / choice.scale,
        size=by_class.sum(axis=1),
        by_class=by_class,
        touched=has_place & (by_class != model.old_class).any(axis=1),
        role_by_class=role_by_class,
    )
