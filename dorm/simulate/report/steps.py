"""Step functions of time, and how to draw long ones: averages over equal pieces, weighted by time.

A cluster has a value until the next event, so its series are steps and not lines between samples.
A week of thousands of applications has more steps than a screen has pixels; every piece of time
then shows its exact average, which keeps the area under the curve.
"""

from collections.abc import Iterable
from typing import Final, Self

import attrs
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PIECES: Final = 400


@attrs.frozen(kw_only=True, eq=False)
class Steps:
    """A step function: `values[i]` holds from `edges[i]` to `edges[i + 1]`."""

    edges: Floats
    values: Floats

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]], *, end: float) -> Self:
        """Return the function that takes each value at its time, and the last one until `end`.

        Of several values for one time the last one counts; what begins at `end` or later does not.
        """
        by_time = dict(sorted(points, key=lambda point: point[0]))
        times = [at for at in by_time if at < end]
        return cls(
            edges=np.array([*times, end], dtype=np.float64),
            values=np.array([by_time[at] for at in times], dtype=np.float64),
        )

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to draw."""
        return self.values.size == 0

    @property
    def integral(self) -> float:
        """Return the area below the function."""
        return float(np.add.reduce(self.values * np.diff(self.edges)))

    @property
    def mean(self) -> float:
        """Return the average over time; 0 of nothing."""
        return 0.0 if self.is_empty else self.integral / float(self.edges[-1] - self.edges[0])

    def thinned(self, pieces: int = PIECES) -> "Steps":
        """Return at most `pieces` steps with the same integral: itself, or averages of pieces."""
        if self.values.size <= pieces:
            return self
        start, end = float(self.edges[0]), float(self.edges[-1])
        averages = piece_averages(
            rows=np.zeros(self.values.size, dtype=np.int64),
            at=self.edges[:-1] - start,
            change=np.diff(self.values, prepend=0.0),
            shape=(1, pieces),
            span=end - start,
        )
        return Steps(edges=np.linspace(start, end, pieces + 1), values=averages[0])


def piece_averages(
    *, rows: Ints, at: Floats, change: Floats, shape: tuple[int, int], span: float
) -> Floats:
    """Return averages of many step functions over equal pieces of time, one function a row.

    The function of row `rows[k]` changes by `change[k]` at `at[k]` (0 before all changes). A change
    d that lies a part f into a piece adds d (1 - f) to the average of that piece, and d to every
    later one. So: scatter d (1 - f) into the piece and the rest d f into the next one, then add up
    along the row. Exact, and linear in changes and pieces, whatever the number of functions.

    Args:
        rows: Row of each change.
        at: Time of each change, from 0; what lies beyond `span` is left out.
        change: By how much the function jumps.
        shape: Number of rows, number of pieces.
        span: How much time all pieces cover together.
    """
    heights = np.zeros((shape[0], shape[1] + 1), dtype=np.float64)
    position = np.maximum(at, 0.0) * (shape[1] / span)
    inside = position < shape[1]
    piece = position[inside].astype(np.int64)
    late = position[inside] - piece
    np.add.at(heights, (rows[inside], piece), change[inside] * (1.0 - late))
    np.add.at(heights, (rows[inside], piece + 1), change[inside] * late)
    return np.add.accumulate(heights, axis=1)[:, :-1]
