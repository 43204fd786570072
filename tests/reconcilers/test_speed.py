"""How fast an application is at which size: promised, learnt, or not known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.apps import SpeedPoint
from events.state import App, Measured, Progress
from reconcilers.layout.speed import curve, fit
from tests.builders import a_spec


def measured(a: float, sizes: tuple[int, ...]) -> dict[int, Progress]:
    """What an application of this `a` trains at these sizes in an hour, 10 steps a second alone."""
    return {
        size: Progress(steps=round(36_000 * size / (1 + a * (size - 1))), ms=3_600_000)
        for size in sizes
    }


def an_application(speeds: dict[int, Progress], **spec: Any) -> App:  # noqa: ANN401 - as in `a_spec`
    """An application that trained at these sizes."""
    return App(
        app_id="a",
        spec=a_spec(**spec),
        submitted_revision=1,
        submitted_at_ms=0,
        user="ann",
        measured=Measured(speeds=speeds),
    )


@given(a=st.integers(0, 20), sizes=st.sets(st.integers(1, 64), min_size=2, max_size=6))
def test_the_part_that_does_not_scale_is_found_again(a: int, sizes: set[int]) -> None:
    """A perfect measurement gives back what it was made with, in twentieths."""
    assert a / 20 == fit(measured(a / 20, tuple(sorted(sizes))))


def test_one_size_says_nothing_about_others() -> None:
    """A line needs two points; until then, as fast as it has containers."""
    assert fit(measured(0.1, (4,))) is None
    assert () == curve(an_application(measured(0.1, (4,))))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ({1: 100, 2: 300}, 0.0),  # faster than linear: caches
        ({1: 100, 4: 50}, 1.0),  # slower with more
        ({2: 1000, 64: 10}, 1.0),  # so much slower that the line cuts the axis
    ],
)
def test_what_no_training_of_the_model_does_is_taken_for_the_nearest_that_does(
    steps: dict[int, int], expected: float
) -> None:
    """Noise must not promise more than a container for a container, nor less than nothing."""
    speeds = {size: Progress(steps=count, ms=1_000) for size, count in steps.items()}

    assert expected == fit(speeds)


def test_a_learnt_curve_has_the_sizes_that_matter() -> None:
    """Doubling sizes to the maximum are enough to draw it."""
    actual = curve(an_application(measured(0.5, (1, 8)), max=6))

    assert [1, 2, 4, 6] == [point.containers for point in actual]
    assert [1.0, 2 / 1.5, 4 / 2.5, 6 / 3.5] == [point.speed for point in actual]


def test_a_promise_counts_more_than_a_measurement() -> None:
    """The user may know of a phase that has not begun."""
    promised = (SpeedPoint(containers=1, speed=2.0), SpeedPoint(containers=4, speed=7.0))

    assert promised == curve(an_application(measured(0.5, (1, 2)), speed=promised))


def test_sizes_without_progress_are_left_out() -> None:
    """A training that wrote no checkpoint at that size has no speed there, not a speed of zero."""
    speeds = {**measured(0.5, (1, 4)), 2: Progress(steps=0, ms=10_000), 3: Progress()}

    assert 0.5 == fit(speeds)
