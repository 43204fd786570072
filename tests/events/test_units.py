"""Arithmetic on resources."""

from fractions import Fraction

import attrs
import pytest
from attrs import validators
from hypothesis import given
from hypothesis import strategies as st

from events.units import Resources, at_least_one_demand, total_of
from tests.builders import amount

small = st.integers(0, 20)
some = st.builds(Resources, cpu_milli=small, memory_bytes=small, gpu_count=small)


@given(st.lists(some))
def test_a_total_does_not_depend_on_the_order(amounts: list[Resources]) -> None:
    """Plans must not change when a map is walked another way."""
    assert total_of(amounts) == total_of(reversed(amounts))


@given(some, some)
def test_a_difference_undoes_a_sum(one: Resources, other: Resources) -> None:
    """Room that is given and taken back is the room there was."""
    assert one == one + other - other


@given(some, some)
def test_as_many_fit_as_are_said_to_fit(demand: Resources, room: Resources) -> None:
    """`times_in` is what placement counts on: so many, and not one more."""
    times = demand.times_in(room)

    assert (demand * times).fits_in(room)
    assert demand == Resources() or not (demand * (times + 1)).fits_in(room)


@given(some, some)
def test_what_fits_still_fits_beside_less(one: Resources, other: Resources) -> None:
    """A smaller demand never needs more room."""
    assert one.fits_in(one + other)


def test_what_is_not_asked_for_is_not_compared() -> None:
    """A node short of memory still takes a container that needs none."""
    assert amount(cpus=1).fits_in(amount(cpus=1) - amount(memory_gib=1))
    assert not amount(gpus=1).fits_in(amount(cpus=8))


def test_the_dominant_share_is_the_largest_and_exact() -> None:
    """Floating point would make ties depend on rounding. DRF paper, section 4.1."""
    total = amount(cpus=9, memory_gib=18)

    assert Fraction(2, 9) == amount(cpus=1, memory_gib=4).dominant_share(total)
    assert Fraction(1, 3) == amount(cpus=3, memory_gib=1).dominant_share(total)
    assert Fraction(0) == amount(gpus=1).dominant_share(total)


@attrs.frozen
class Asking:
    """Anything that carries a demand."""

    resources: Resources = attrs.field(
        validator=[validators.instance_of(Resources), at_least_one_demand]
    )


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        (Resources(), "resources asks for nothing"),
        (Resources(cpu_milli=-1), "resources has cpu_milli below zero"),
        (Resources(cpu_milli=1, memory_bytes=-1), "resources has memory_bytes below zero"),
    ],
)
def test_a_demand_asks_for_something(demand: Resources, words: str) -> None:
    """A container without a demand would fit anywhere, any number of times."""
    with pytest.raises(ValueError, match=words):
        Asking(demand)
