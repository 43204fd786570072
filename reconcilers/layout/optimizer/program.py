"""The pattern program: a linear program over patterns and growth.

    max   sum_j gain_j v_j - EXCESS_PRICE * e
    s.t.  sum_{j of shape k} v_j  -  sum_p a_pk y_p  <=  -fixed_k       for each shape k
          sum_{p of group g} y_p  <=  nodes_g                          for each group g
          sum_j loss_j v_j - e  <=  loss_max - loss of everything else
          0 <= v_j <= length_j,   y_p, e >= 0

A pattern p says how many containers of each shape one node of its group holds; y_p nodes are
filled that way. Fairness is soft: there may be no layout within the bound at all. The rows are as
many as shapes and groups, however many applications and nodes there are.

Source: Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", 1961.
"""

from typing import Final

import attrs
import highspy
import numpy as np

from reconcilers.layout.optimizer.groups import Groups
from reconcilers.layout.optimizer.model import EXCESS_PRICE, Floats, Ints
from reconcilers.layout.optimizer.segments import Columns
from reconcilers.layout.optimizer.solver import Solver

MISSING_PRICE: Final = 1e3  # of a container that has to be there and is not, in median gains
INFINITY: Final = highspy.kHighsInf


@attrs.frozen(kw_only=True, eq=False)
class Prices:
    """Dual values of the pattern program.

    Attributes:
        shape: (S,) of a container of each shape.
        group: (G,) of a node of each group.
        loss: Of one unit of fairness loss.
    """

    shape: Floats
    group: Floats
    loss: float


class Program:
    """One pattern program, to which patterns are added.

    Attributes:
        group_of: Group of every pattern.
        value: Of the last solution, in true units, without anything outside of the columns.
    """

    def __init__(self, columns: Columns, groups: Groups, room_for_loss: float) -> None:
        self._shapes, self._groups = len(columns.fixed), len(groups.count)
        positive = columns.gain[columns.gain > 0]
        self._scale = 1.0 / float(np.median(positive)) if len(positive) else 1.0
        self._solver = Solver()
        self._solver.setOptionValue("presolve", "off")
        self._solver.passModel(self._rows(columns, groups, room_for_loss))
        self._columns = self._solver.getNumCol()
        self._seen: set[tuple[int, bytes]] = set()
        self._patterns: list[Ints] = []
        self.group_of: list[int] = []
        self.value = 0.0

    @property
    def patterns(self) -> Ints:
        """Return (N, S) all patterns."""
        return np.array(self._patterns, dtype=np.int64).reshape(-1, self._shapes)

    def _rows(self, columns: Columns, groups: Groups, room_for_loss: float) -> highspy.HighsLp:
        shapes, many = self._shapes, len(columns.length)
        missing = np.flatnonzero(columns.fixed > 0)
        excess, count = many, many + 1 + len(missing)
        fair = shapes + self._groups
        rows = np.concatenate([columns.row, np.full(many + 1, fair), missing])
        at = np.concatenate(
            [columns.column, np.arange(many + 1), many + 1 + np.arange(len(missing))]
        )
        entries = np.concatenate(
            [columns.amount, columns.loss * self._scale, [-1.0], np.full(len(missing), -1.0)]
        )
        by_column = np.lexsort((rows, at))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = count, fair + 1
        program.sense_ = highspy.ObjSense.kMaximize
        price = np.concatenate([[-EXCESS_PRICE], np.full(len(missing), -MISSING_PRICE)])
        program.col_cost_ = np.concatenate([columns.gain * self._scale, price])
        program.col_lower_ = np.zeros(count)
        program.col_upper_ = np.concatenate([columns.length, np.full(count - excess, INFINITY)])
        program.row_lower_ = np.full(fair + 1, -INFINITY)
        program.row_upper_ = np.concatenate(
            [-columns.fixed.astype(np.float64), groups.count, [room_for_loss * self._scale]]
        )
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.searchsorted(at[by_column], np.arange(count + 1))
        program.a_matrix_.index_ = rows[by_column]
        program.a_matrix_.value_ = entries[by_column]
        return program

    def add(self, groups: Ints, patterns: Ints) -> int:
        """Add the patterns that are not there yet; return how many those are."""
        new = []
        for index, group in enumerate(groups.tolist()):
            key = (group, patterns[index].tobytes())
            if key not in self._seen:
                self._seen.add(key)
                new.append(index)
        if not new:
            return 0
        groups, patterns = groups[new], patterns[new]
        column, shape = np.nonzero(patterns)
        columns = np.concatenate([column, np.arange(len(new))])
        rows = np.concatenate([shape, self._shapes + groups])
        entries = np.concatenate([-patterns[column, shape].astype(np.float64), np.ones(len(new))])
        order = np.argsort(columns, kind="stable")
        start = np.searchsorted(columns[order], np.arange(len(new))).astype(np.int32)
        zeros = np.zeros(len(new))
        self._solver.addCols(
            len(new), zeros, zeros, np.full(len(new), INFINITY),
            len(order), start, rows[order].astype(np.int32), entries[order],
        )  # fmt: skip
        self.group_of += groups.tolist()
        self._patterns += list(patterns)
        return len(new)

    def solve(self) -> Prices | None:
        """Solve on from the last basis; return the prices, or None if the solver gives up."""
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._solver.clearSolver()  # Once more without the basis, which may be what hurts.
            self._solver.run()
            if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
        dual = np.array(self._solver.getSolution().row_dual)
        self.value = self._solver.getInfo().objective_function_value / self._scale
        shapes = self._shapes
        return Prices(
            shape=np.maximum(dual[:shapes], 0.0) / self._scale,
            group=np.maximum(dual[shapes:-1], 0.0) / self._scale,
            loss=min(max(float(dual[-1]), 0.0), EXCESS_PRICE),
        )

    def nodes(self) -> Floats:
        """Return (N,) how many nodes the last solution fills by each pattern; fractions."""
        return np.array(self._solver.getSolution().col_value)[self._columns :]
