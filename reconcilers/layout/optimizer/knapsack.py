"""The best pattern for one node: a knapsack of three resources.

    max   sum_k price_k * a_k
    s.t.  sum_k demand_k * a_k <= room,   0 <= a_k <= most_k, integer

`Greedy` fills many nodes at once. For a weight of each resource, shapes are ordered by price per
weighted demand, and each in turn is taken as often as it fits. Three things make the outcome good
enough to price columns with: many weights (what is scarce on a node differs); a first sweep that
takes only half of what fits, so that the second one has something left to combine; and orders
that are tilted at random, but every time in the same way. `best_pattern` is exact, for where the
greedy one finds nothing better and a proof is wanted.
"""

from typing import Final

import attrs
import highspy
import numpy as np

from reconcilers.layout.optimizer.model import Bools, Floats, Ints
from reconcilers.layout.optimizer.solver import Solver

WORTHLESS: Final = 1e-12  # part of the highest price below which a shape is not considered
KNAPSACK_GAP: Final = 5e-5
KNAPSACK_NODES_MAX: Final = 200  # of the search tree: closed by then, or nearly
TILT: Final = 0.4  # densities are tilted by up to this part of themselves
TILTS: Final = 3  # tilted orders per weight
PAUSE: Final = 8  # steps of a sweep after which full nodes are left out
TILTED_SHAPES: Final = 64  # shapes of equal remainder are tilted equally
SOLVER_AMOUNT_MAX: Final = 1e4  # larger rooms are scaled down to it: tolerances are absolute
ABUNDANT: Final = 1 << 20  # most containers of one shape on one node


def simplex_grid(steps: int) -> Floats:
    """Return the weights of three resources that are multiples of 1/steps and sum to 1."""
    return np.array(
        [
            (a / steps, b / steps, (steps - a - b) / steps)
            for a in range(steps + 1)
            for b in range(steps + 1 - a)
        ]
    )


FEW_WEIGHTS: Final = simplex_grid(2)
MANY_WEIGHTS: Final = np.unique(np.vstack([simplex_grid(4), simplex_grid(6)]).round(9), axis=0)
WEIGHTS: Final = np.vstack([FEW_WEIGHTS, MANY_WEIGHTS])
ORDERS: Final = len(WEIGHTS) + TILTS * len(MANY_WEIGHTS)
_TILT: Final = 1.0 + TILT * np.random.default_rng(0).uniform(
    -1.0, 1.0, (TILTS * len(MANY_WEIGHTS), TILTED_SHAPES)
)


@attrs.frozen(kw_only=True, eq=False)
class Trials:
    """Which greedy fillings to try: parallel arrays.

    Attributes:
        room: (B, R) of the node.
        order: (B,) index of the order of shapes: by one of `WEIGHTS`, those after them tilted.
        half: (B,) whether the first sweep takes half.
    """

    room: Floats
    order: Ints
    half: Bools


@attrs.frozen(kw_only=True, eq=False)
class Greedy:
    """Greedy fillings of nodes with shapes.

    Attributes:
        demand: (S, R) shapes.
        unit: (R,) amounts that count as equally much of each resource.
    """

    demand: Ints
    unit: Floats

    def fill(self, trials: Trials, price: Floats, most: Ints) -> tuple[Floats, Ints]:
        """Return (B,) what each filling is worth, and (B, S) the patterns.

        Args:
            trials: What to fill.
            price: (S,) of one container.
            most: (S,) containers of each shape that a pattern may have.
        """
        count = len(trials.room)
        patterns = np.zeros((count, len(self.demand)), dtype=np.int64)
        worth = np.flatnonzero((price > WORTHLESS * price.max(initial=0.0)) & (most > 0))
        if not len(worth) or not count:
            return np.zeros(count), patterns
        sweep = _Sweep(
            order=self._orders(price[worth], worth)[trials.order],
            demand=self.demand[worth].astype(np.float64),
            room=[trials.room[:, r].copy() for r in range(trials.room.shape[1])],
            left=np.tile(np.minimum(most[worth], ABUNDANT).astype(np.float64), (count, 1)),
            taken=np.zeros((count, len(worth))),
        )
        if trials.half.any():
            sweep.run(np.where(trials.half, 0.5, 1.0))
        sweep.run(None)
        patterns[:, worth] = sweep.taken.astype(np.int64)
        value = np.zeros(count)
        for index, shape in enumerate(worth.tolist()):  # In order: the same sum on every machine.
            value += sweep.taken[:, index] * price[shape]
        return value, patterns

    def _orders(self, price: Floats, worth: Ints) -> Ints:
        scaled = self.demand[worth] / self.unit
        size = 1e-9 + sum(WEIGHTS[:, r : r + 1] * scaled[:, r] for r in range(scaled.shape[1]))
        density = price / size
        tilted = np.tile(density[len(FEW_WEIGHTS) :], (TILTS, 1)) * _TILT[:, worth % TILTED_SHAPES]
        unit = float(density.max()) * 1e-12
        return np.argsort(-np.rint(np.vstack([density, tilted]) / unit), axis=1, kind="stable")


@attrs.define(kw_only=True, eq=False)
class _Sweep:
    """Fillings under way: (B,) room by resource, (B, K) what may still be taken, and what was."""

    order: Ints
    demand: Floats
    room: list[Floats]
    left: Floats
    taken: Floats

    def run(self, part: Floats | None) -> None:
        """Go through the shapes once in order, and take all that fits, or `part` of it."""
        rows = np.arange(len(self.order))
        divisor = np.where(self.demand > 0, self.demand, 1.0)
        infinite = np.where(self.demand > 0, 0.0, np.inf)
        least = self.demand.min(axis=0)
        for position in range(self.order.shape[1]):
            if position % PAUSE == 0:  # Go on with those where anything may fit at all.
                rows = rows[self._is_open(rows, least)]
            shape = self.order[rows, position]
            fits = self.left[rows, shape]
            for r, room in enumerate(self.room):
                each = np.floor(room[rows] / divisor[shape, r])
                fits = np.minimum(fits, each + infinite[shape, r])
            if part is not None:
                fits = np.ceil(fits * part[rows])
            some = np.flatnonzero(fits > 0)
            if not len(some):
                continue
            row, shape, fits = rows[some], shape[some], fits[some]
            for r, room in enumerate(self.room):
                room[row] -= fits * self.demand[shape, r]
            self.left[row, shape] -= fits
            self.taken[row, shape] += fits

    def _is_open(self, rows: Ints, least: Floats) -> Bools:
        """Return which of the nodes still have the least that any shape needs."""
        is_open = np.ones(len(rows), dtype=bool)
        for r, room in enumerate(self.room):
            is_open &= room[rows] >= least[r]
        return is_open


def best_pattern(price: Floats, demand: Ints, room: Ints, most: Ints) -> tuple[float, Ints]:
    """Return an upper bound of what one node is worth, and a pattern within `KNAPSACK_GAP` of it.

    Args:
        price: (S,) of one container.
        demand: (S, R).
        room: (R,) of the node.
        most: (S,) containers of each shape at most.
    """
    pattern = np.zeros(len(price), dtype=np.int64)
    each = np.where(demand > 0, room // np.maximum(demand, 1), ABUNDANT).min(axis=1)
    upper = np.minimum(np.minimum(each, most), ABUNDANT)
    items = np.flatnonzero((price > WORTHLESS * price.max(initial=0.0)) & (upper > 0))
    if not len(items):
        return 0.0, pattern
    solver = Solver()
    for option, value in (
        ("mip_rel_gap", KNAPSACK_GAP),
        ("mip_max_nodes", KNAPSACK_NODES_MAX),
        ("mip_heuristic_effort", 0.0),  # The greedy filling is a better one, and was tried before.
        ("presolve", "off"),  # There is nothing to reduce.
    ):
        solver.setOptionValue(option, value)
    scale = 1.0 / float(price[items].max())
    solver.passModel(_knapsack(price[items] * scale, demand[items], room, upper[items]))
    solver.run()
    pattern[items] = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
    if (
        (pattern[:, None] * demand).sum(axis=0) > room
    ).any():  # Within the solver's tolerance only.
        pattern[:] = 0
    return float(solver.getInfo().mip_dual_bound) / scale, pattern


def _knapsack(price: Floats, demand: Ints, room: Ints, upper: Ints) -> highspy.HighsLp:
    items, resources = demand.shape
    unit = np.maximum(room / SOLVER_AMOUNT_MAX, 1.0)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = items, resources
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = price
    program.col_lower_, program.col_upper_ = np.zeros(items), upper.astype(np.float64)
    program.row_lower_ = np.full(resources, -highspy.kHighsInf)
    program.row_upper_ = room / unit
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.arange(0, resources * items + 1, resources)
    program.a_matrix_.index_ = np.tile(np.arange(resources), items)
    program.a_matrix_.value_ = (demand / unit).reshape(-1)
    program.integrality_ = [highspy.HighsVarType.kInteger] * items
    return program
