"""Step functions, and how long ones are made short."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dorm.simulate.report.steps import Steps, piece_averages

moments = st.lists(
    st.tuples(st.floats(0, 1e6, width=32), st.floats(0, 3, width=32)), min_size=1, max_size=60
)


@given(points=moments, pieces=st.integers(1, 40))
def test_fewer_steps_have_the_same_integral(points: list[tuple[float, float]], pieces: int) -> None:
    """A plot that loses area would show a utilization that never was."""
    steps = Steps.of(points, end=1.1e6)

    thinned = steps.thinned(pieces)

    assert thinned.values.size <= pieces
    assert math.isclose(steps.integral, thinned.integral, rel_tol=1e-9, abs_tol=1e-3)
    assert (steps.edges[0], steps.edges[-1]) == (thinned.edges[0], thinned.edges[-1])


def test_a_short_series_stays_as_it_is() -> None:
    """Where there is room for every step, nothing is smoothed."""
    steps = Steps.of([(0, 1.0), (10, 2.0), (25, 0.0)], end=30)

    assert steps is steps.thinned(3)
    assert [1.0, 2.0, 0.0] == steps.values.tolist()
    assert [0, 10, 25, 30] == steps.edges.tolist()


def test_a_piece_shows_its_average_over_time() -> None:
    """A peak of a second in a day must not look like a day of it."""
    steps = Steps.of([(0, 0.0), (9, 10.0), (10, 0.0)], end=20)

    assert [1.0, 0.0] == pytest.approx(steps.thinned(2).values.tolist(), abs=1e-9)


def test_of_two_values_for_one_time_the_last_counts() -> None:
    """Several facts may fall on one instant; the state after all of them is the one that lasts."""
    assert [2.0] == Steps.of([(0, 1.0), (0, 2.0)], end=5).values.tolist()


def test_what_begins_at_the_end_is_left_out() -> None:
    """It would be a step without width."""
    assert [1.0] == Steps.of([(0, 1.0), (5, 7.0)], end=5).values.tolist()
    assert Steps.of([(5, 7.0)], end=5).is_empty
    assert 0.0 == Steps.of([], end=5).mean


def test_many_functions_at_once_are_the_same_as_one_by_one() -> None:
    """Rows of a heat map must not leak into each other."""
    averages = piece_averages(
        rows=np.array([0, 1, 0, 1]),
        at=np.array([0.0, 5.0, 15.0, 20.0]),
        change=np.array([4.0, 2.0, -4.0, -2.0]),
        shape=(2, 3),
        span=30,
    )

    assert [[4.0, 2.0, 0.0], [1.0, 2.0, 0.0]] == averages.tolist()
