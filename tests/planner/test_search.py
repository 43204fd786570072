"""The bisection that finds a guilty application, without any process."""

from hypothesis import given
from hypothesis import strategies as st

from dorm.planner.search import trials


def run(new: tuple[str, ...], old: tuple[str, ...], guilty: frozenset[str]) -> tuple[str, int]:
    """Return the verdict and the number of trials, if planning fails while any guilty one is in."""
    search, count = trials(new, old), 0
    try:
        held_out = next(search)
        while True:
            count += 1
            held_out = search.send(guilty <= set(held_out))
    except StopIteration as end:
        return end.value, count


names = st.lists(st.integers(0, 999), unique=True, max_size=70).map(
    lambda numbers: tuple(f"a{number}" for number in numbers)
)


@given(order=names, data=st.data())
def test_whoever_is_found_is_guilty_after_few_trials(
    order: tuple[str, ...], data: st.DataObject
) -> None:
    """However many are, wherever they stand: a quarantine of the innocent would be an outrage."""
    cut = data.draw(st.integers(0, len(order)))
    guilty = data.draw(st.frozensets(st.sampled_from(order), min_size=1)) if order else frozenset()
    verdict, count = run(order[:cut], order[cut:], guilty)

    assert verdict in guilty if guilty else verdict in {"", *order}
    assert count <= 2 + len(order).bit_length()


@given(new=names)
def test_nobody_is_found_when_holding_everybody_out_does_not_heal(new: tuple[str, ...]) -> None:
    """The fault lies elsewhere then."""
    verdict, count = run(new, (), frozenset({"the planner itself"}))

    assert "" == verdict
    assert count <= 2
