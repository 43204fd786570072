"""A sparse matrix that grows row by row, as linear programs are written down."""

import attrs
import highspy
import numpy as np

from reconcilers.layout.optimizer.model import Floats, Ints


@attrs.define(eq=False)
class Matrix:
    """Rows with bounds, and the coefficients put into them so far."""

    lower: list[float] = attrs.field(factory=list)
    upper: list[float] = attrs.field(factory=list)
    _row: list[Ints] = attrs.field(factory=list)
    _column: list[Ints] = attrs.field(factory=list)
    _value: list[Floats] = attrs.field(factory=list)

    def rows(self, lower: Floats, upper: Floats) -> Ints:
        """Add rows between these bounds, and return their indices."""
        first = len(self.lower)
        self.lower += lower.tolist()
        self.upper += upper.tolist()
        return np.arange(first, len(self.lower))

    def put(self, row: Ints | int, column: Ints, value: Floats | Ints | float) -> None:
        """Put coefficients into rows; one row or one value counts for all columns."""
        row, value = np.broadcast_to(row, column.shape), np.broadcast_to(value, column.shape)
        kept = np.flatnonzero(value)
        self._row.append(row[kept])
        self._column.append(column[kept])
        self._value.append(value[kept].astype(np.float64))

    def program(self, *, columns: int) -> highspy.HighsLp:
        """Return a program of these rows; bounds and costs of its columns are still to be set."""
        row, column = np.concatenate(self._row), np.concatenate(self._column)
        order = np.lexsort((column, row))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, len(self.lower)
        program.row_lower_, program.row_upper_ = np.array(self.lower), np.array(self.upper)
        matrix = program.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        counts = np.bincount(row, minlength=len(self.lower))
        matrix.start_ = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        matrix.index_ = column[order].astype(np.int32)
        matrix.value_ = np.concatenate(self._value)[order]
        return program
