"""Is the store the one that was known? Examples, and what holds for all of them."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from reconcilers.history import Position, judge

KNOWN = Position(epoch=2, store_id="b", revision=90)
positions = st.builds(
    Position,
    epoch=st.integers(0, 4),
    store_id=st.sampled_from("abc"),
    revision=st.integers(0, 100),
)


def kind(**found: object) -> str:
    """Return what is made of a store that differs from the known one in this."""
    return judge(KNOWN, attrs.evolve(KNOWN, **found)).kind  # type: ignore[arg-type]


def test_a_store_that_went_on_is_the_same() -> None:
    """Nothing is held for progress, and nothing for standing still."""
    assert ["same", "same"] == [kind(revision=90), kind(revision=91)]


def test_a_store_that_went_back_is_not() -> None:
    """By revision, by epoch, or into another one of the same number."""
    assert {"regressed"} == {
        kind(revision=89),
        kind(epoch=1),
        kind(store_id="c"),
        kind(epoch=0, store_id=""),
    }


def test_an_operators_epoch_is_believed_wherever_it_stands() -> None:
    """It is what everybody waits for."""
    assert "new" == kind(epoch=3, store_id="c", revision=4)


def test_who_knows_nothing_takes_what_is_there() -> None:
    """A new machine in an old cluster; the mark of the first epoch in an old memory."""
    unmarked = Position(revision=90)

    assert "first" == judge(Position(), KNOWN).kind
    assert "first" == judge(unmarked, attrs.evolve(KNOWN, epoch=1)).kind
    assert "regressed" == judge(unmarked, Position(epoch=1, store_id="b", revision=89)).kind
    assert "new" == judge(unmarked, attrs.evolve(KNOWN, revision=3)).kind


@given(positions, positions)
def test_nobody_goes_back_without_an_operator(known: Position, found: Position) -> None:
    """Whatever is obeyed is at least as new as what was known, by epoch and then by revision."""
    verdict = judge(known, found)

    if verdict.kind in {"same", "first"} and known != Position():
        assert (found.epoch, found.revision) >= (known.epoch, known.revision)
    assert bool(verdict.reason) == (verdict.kind == "regressed")
