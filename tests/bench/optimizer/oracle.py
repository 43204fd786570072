"""The layout problem node by node, as the paper gave it to a commercial solver: a reference.

    max   sum_i [ G_i + gain_zero_i (1 - y_i) - touch_cost_i r_i ] - EXCESS_PRICE * e
    s.t.  sum_i demand_i x_ih + sum_k demand_k w_kh <= room_h                     for each node h
          low_i y_i <= sum_h x_ih <= high_i y_i,   sum_h w_kh = count_k y_i
          G_i <= every linear piece of the gain,   L_i >= every linear piece of the loss
          sum_i [ L_i + loss_zero_i (1 - y_i) ] - e <= F
          x_ih, w_kh equal to what is there now unless r_i = 1,   sum_i r_i <= K
          y, r binary (y = 1 of those that run),  x, w >= 0 integer,  L, e >= 0

Exact, and useless from a hundred nodes on: equal nodes make it branch over permutations.
"""

import importlib
import math
import time
from typing import Final

import attrs
import highspy
import numpy as np

from reconcilers.layout.optimizer.matrix import Matrix
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Ints, Model
from reconcilers.layout.optimizer.solver import Solver

SCALE: Final = 10**6  # of shares, where a solver knows only integers


@attrs.frozen(kw_only=True)
class Exact:
    """What a general solver found.

    Attributes:
        value: Of its best layout; minus infinity if it found none.
        bound: No layout is worth more.
        cpu_s: How long it took.
    """

    value: float
    bound: float
    cpu_s: float


def by_highs(model: Model, *, seconds: float = 10.0) -> Exact:
    """Return what HiGHS makes of the problem in so many seconds."""
    before = time.process_time()
    solver = Solver()
    solver.setOptionValue("time_limit", seconds)
    solver.setOptionValue("mip_rel_gap", 1e-6)
    solver.passModel(program(model))
    solver.run()
    info = solver.getInfo()
    is_found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    value = info.objective_function_value if is_found else -math.inf
    return Exact(value=value, bound=info.mip_dual_bound, cpu_s=time.process_time() - before)


def by_cp_sat(model: Model, *, seconds: float = 10.0) -> Exact | None:
    """Return what CP-SAT makes of it, or None where OR-Tools is not installed."""
    try:
        cp_model = importlib.import_module("ortools.sat.python.cp_model")  # not in the lock file
    except ImportError:
        return None
    before = time.process_time()
    exact = program(model)
    integer = highspy.HighsVarType.kInteger
    scales = [1 if kind == integer else SCALE for kind in exact.integrality_]
    satisfy = cp_model.CpModel()
    bounds = zip(exact.col_lower_, exact.col_upper_, scales, strict=True)
    columns = [satisfy.new_int_var(*_bounds(*bound), "") for bound in bounds]
    matrix = exact.a_matrix_  # copied once: each access to a part copies all of it
    start, index, value = list(matrix.start_), list(matrix.index_), list(matrix.value_)
    limits = zip(exact.row_lower_, exact.row_upper_, strict=True)
    for row, (lower, upper) in enumerate(limits):
        terms = range(start[row], start[row + 1])
        weights = [round(value[term] * SCALE / scales[index[term]]) for term in terms]
        total = cp_model.LinearExpr.weighted_sum([columns[index[term]] for term in terms], weights)
        satisfy.add_linear_constraint(total, _whole(lower), _whole(upper))
    costs = enumerate(exact.col_cost_)
    satisfy.maximize(sum(columns[c] * round(cost * SCALE / scales[c]) for c, cost in costs if cost))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 1
    is_found = solver.solve(satisfy) in {cp_model.OPTIMAL, cp_model.FEASIBLE}
    return Exact(
        value=solver.objective_value / SCALE + exact.offset_ if is_found else -math.inf,
        bound=solver.best_objective_bound / SCALE + exact.offset_,
        cpu_s=time.process_time() - before,
    )


def _whole(bound: float) -> int:
    return round(max(-1e12, min(1e12, bound)) * SCALE)


def _bounds(lower: float, upper: float, scale: int) -> tuple[int, int]:
    most = 1e6 if scale == 1 else 1e3
    return round(max(-most, lower) * scale), round(min(most, upper) * scale)


@attrs.frozen(kw_only=True, eq=False)
class _Columns:
    """Columns of the program.

    Attributes:
        placed, touched, gain, loss: (A,) of y, r, G, L.
        place: (A, H) of x.
        role_place: (N, H) of w.
        excess: Of e.
    """

    placed: Ints
    touched: Ints
    gain: Ints
    loss: Ints
    place: Ints
    role_place: Ints
    excess: int


def program(model: Model) -> highspy.HighsLp:
    """Return the mixed-integer program."""
    apps, nodes, roles = model.apps, model.nodes, len(model.roles)
    parts = np.cumsum([apps, apps, apps, apps, apps * nodes, roles * nodes])
    *split, (excess,) = np.split(np.arange(parts[-1] + 1), parts)
    columns = _Columns(
        placed=split[0],
        touched=split[1],
        gain=split[2],
        loss=split[3],
        place=split[4].reshape(apps, nodes),
        role_place=split[5].reshape(roles, nodes),
        excess=int(excess),
    )
    matrix = Matrix()
    _add_nodes(matrix, model, columns)
    for app in range(apps):
        _add_app(matrix, model, columns, app)
    _add_budgets(matrix, model, columns)
    made = matrix.program(columns=columns.excess + 1)
    _set_columns(made, model, columns)
    return made


def _add_nodes(matrix: Matrix, model: Model, columns: _Columns) -> None:
    for node, room in enumerate(model.room):
        rows = matrix.rows(np.full(len(room), -np.inf), room.astype(np.float64))
        for resource, row in enumerate(rows.tolist()):
            matrix.put(row, columns.place[:, node], model.demand[:, resource])
            amounts = np.array([role.demand[resource] for role in model.roles], dtype=np.int64)
            matrix.put(row, columns.role_place[:, node], amounts)


def _add_app(matrix: Matrix, model: Model, columns: _Columns, app: int) -> None:
    """Tie an application's size, value and places to whether it is placed, and touched."""
    below, above = np.array([-np.inf]), np.array([0.0])
    places, placed = columns.place[app], columns.placed[[app]]
    for sign, bound in ((1.0, model.high[app]), (-1.0, model.low[app])):
        (row,) = matrix.rows(below, above).tolist()
        matrix.put(row, places, sign)
        matrix.put(row, placed, -sign * bound)
    for sign, column, values in (
        (1.0, columns.gain, model.gain[:, app]),
        (-1.0, columns.loss, model.loss[:, app]),
    ):
        for slope, at_zero in _pieces(model.points[:, app], values):
            (row,) = matrix.rows(below, above).tolist()
            matrix.put(row, column[[app]], sign)
            matrix.put(row, places, -sign * slope)
            matrix.put(row, placed, -sign * at_zero)
    for index, role in enumerate(model.roles):
        if role.app == app:
            (row,) = matrix.rows(above, above).tolist()
            matrix.put(row, columns.role_place[index], 1.0)
            matrix.put(row, placed, float(-role.count))
            if model.running[app]:
                old = np.array([role.places.get(node, 0) for node in range(model.nodes)])
                most = np.full(model.nodes, role.count)
                _stay(matrix, columns.role_place[index], old, most, columns.touched[[app]])
    if model.running[app]:
        old = np.zeros(model.nodes, dtype=np.int64)
        mine = model.old.app == app
        old[model.old.node[mine]] = model.old.count[mine]
        most = np.full(model.nodes, model.high[app])
        _stay(matrix, places, old, most, columns.touched[[app]])


def _stay(matrix: Matrix, places: Ints, old: Ints, most: Ints, touched: Ints) -> None:
    """Let places differ from the old ones only if their application is touched."""
    unbounded = np.full(len(places), -np.inf)
    rows = matrix.rows(unbounded, old.astype(np.float64))
    matrix.put(rows, places, 1.0)
    matrix.put(rows, np.broadcast_to(touched, rows.shape), -np.maximum(most - old, 0))
    rows = matrix.rows(unbounded, -old.astype(np.float64))
    matrix.put(rows, places, -1.0)
    matrix.put(rows, np.broadcast_to(touched, rows.shape), -old)


def _pieces(points: Ints, values: np.ndarray) -> list[tuple[float, float]]:
    """Return slope and height at zero of each line between neighbouring points."""
    distinct, first = np.unique(points, return_index=True)
    if len(distinct) == 1:
        return [(0.0, float(values[0]))]
    slopes = np.diff(values[first]) / np.diff(distinct)
    heights = values[first][:-1] - slopes * distinct[:-1]
    return list(zip(slopes.tolist(), heights.tolist(), strict=True))


def _add_budgets(matrix: Matrix, model: Model, columns: _Columns) -> None:
    room = model.loss_max - math.fsum(model.loss_zero.tolist())
    loss, touch = matrix.rows(np.full(2, -np.inf), np.array([room, model.touches_max])).tolist()
    matrix.put(loss, columns.loss, 1.0)
    matrix.put(loss, columns.placed, -model.loss_zero)
    matrix.put(loss, np.array([columns.excess]), -1.0)
    matrix.put(touch, columns.touched, 1.0)


def _set_columns(made: highspy.HighsLp, model: Model, columns: _Columns) -> None:
    size = columns.excess + 1
    cost, lower, upper = np.zeros(size), np.zeros(size), np.full(size, np.inf)
    cost[columns.gain], cost[columns.placed] = 1.0, -model.gain_zero
    cost[columns.touched], cost[columns.excess] = -model.touch_cost, -EXCESS_PRICE
    lower[columns.gain] = -np.inf
    lower[columns.placed], upper[columns.placed] = model.running, 1.0
    upper[columns.touched] = model.running & ~model.rests
    upper[columns.place] = model.high[:, None]
    is_integer = np.ones(size, dtype=bool)
    is_integer[columns.gain] = is_integer[columns.loss] = is_integer[columns.excess] = False
    made.sense_ = highspy.ObjSense.kMaximize
    made.col_cost_, made.offset_ = cost, math.fsum(model.gain_zero.tolist())
    made.col_lower_, made.col_upper_ = lower, upper
    kinds = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    made.integrality_ = [kinds[0] if flag else kinds[1] for flag in is_integer.tolist()]
