"""Floor-aware fair shares: who is due a place, and how much is fair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcilers.layout.optimizer.shares import Claims, entitlement, fair_shares

FULL = np.array([1.0, 1.0, 1.0])


def claims(
    use: list[list[float]], floor: list[float], ceiling: list[float], weight: list[float]
) -> Claims:
    """Return claims from plain lists."""
    return Claims(
        use=np.array(use), floor=np.array(floor), ceiling=np.array(ceiling), weight=np.array(weight)
    )


def test_weights_divide_one_full_resource() -> None:
    """Twice the weight is twice the share, and together they fill the cluster."""
    shares = fair_shares(claims([[1, 0, 0], [1, 0, 0]], [0.01, 0.01], [1, 1], [1, 2]), FULL)

    assert shares.tolist() == pytest.approx([1 / 3, 2 / 3])


def test_a_gang_is_due_its_whole_minimum() -> None:
    """Less than its minimum is of no use to a gang; the others share what is left."""
    shares = fair_shares(claims([[1, 0, 0]] * 3, [0.5, 0.01, 0.01], [0.5, 1, 1], [1, 1, 1]), FULL)

    assert shares.tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_who_needs_nothing_of_the_full_resource_goes_on_rising() -> None:
    """Without GPUs nobody has to stop because the GPUs are all given away."""
    shares = fair_shares(claims([[0.1, 0, 1], [1, 0, 0]], [0.01, 0.01], [1, 1], [1, 0.1]), FULL)

    assert shares.tolist() == pytest.approx([1.0, 0.9])


def test_what_one_cannot_use_is_left_to_the_others() -> None:
    """A maximum ends the rise of one, and the level goes on for the rest."""
    shares = fair_shares(claims([[1, 0, 0]] * 2, [0.0, 0.0], [0.1, 1], [1, 1]), FULL)

    assert shares.tolist() == pytest.approx([0.1, 0.9])


def test_without_contention_everyone_is_due_the_maximum() -> None:
    """Nothing is full, so nothing ends the rise but the maximum."""
    shares = fair_shares(claims([[1, 0, 0]] * 2, [0.0, 0.1], [0.1, 0.2], [1, 1]), FULL)

    assert shares.tolist() == pytest.approx([0.1, 0.2])


def test_a_minimum_that_does_not_fit_is_passed_over() -> None:
    """A gang that is too large for what is left does not keep a small one behind it waiting."""
    minimum, room = np.array([[6, 0, 0], [5, 0, 0], [4, 0, 0]]), np.array([10, 0, 0])

    assert [True, False, True] == entitlement(minimum, room, np.array([0, 1, 2])).tolist()
    assert [False, True, True] == entitlement(minimum, room, np.array([2, 1, 0])).tolist()


def test_where_all_minimums_fit_all_are_entitled() -> None:
    """Of whoever may not be entitled at all nothing is asked."""
    minimum, room = np.array([[2, 1, 0], [3, 0, 1], [1, 0, 0]]), np.array([6, 1, 1])

    assert [True, True, True] == entitlement(minimum, room, np.array([2, 0, 1])).tolist()
    assert [True, False, False] == entitlement(minimum, room, np.array([0])).tolist()
    assert not entitlement(minimum, room, np.array([], dtype=np.int64)).any()


@st.composite
def contention(draw: st.DrawFn) -> Claims:
    """Claims of up to a dozen applications whose floors fit together."""
    count = draw(st.integers(1, 12))
    unit = st.floats(0, 1).map(lambda value: round(value, 3))
    use = np.array([[draw(unit), draw(unit), draw(unit)] for _ in range(count)])
    use[np.arange(count), draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))] = 1.0
    floor = np.array([draw(unit) for _ in range(count)]) / count
    ceiling = floor + np.array([draw(unit) for _ in range(count)])
    weight = np.array([draw(st.sampled_from([0.5, 1.0, 2.0, 4.0])) for _ in range(count)])
    return Claims(use=use, floor=floor, ceiling=ceiling, weight=weight)


@given(contention())
def test_shares_are_fair(these: Claims) -> None:
    """Nothing is overfull, bounds hold, and whoever stops short meets a full resource it needs."""
    shares = fair_shares(these, FULL)
    used = (these.use * shares[:, None]).sum(axis=0)

    assert (used <= 1 + 1e-9).all()
    assert (shares >= these.floor - 1e-12).all()
    assert (shares <= these.ceiling + 1e-12).all()
    stopped = shares < these.ceiling - 1e-9
    meets_full = (these.use[:, used > 1 - 1e-9] > 1e-12).any(axis=1)
    assert (meets_full | ~stopped).all()


@given(contention())
def test_nobody_is_richer_who_stands_in_the_way_of_a_poorer(these: Claims) -> None:
    """Of two that stop at the same single resource neither has more per weight, floors apart."""
    only_cpu = Claims(
        use=np.tile([1.0, 0.0, 0.0], (len(these.weight), 1)),
        floor=these.floor,
        ceiling=these.ceiling,
        weight=these.weight,
    )
    shares = fair_shares(only_cpu, FULL)
    level = shares / these.weight
    stopped = shares < these.ceiling - 1e-9
    above_floor = shares > these.floor + 1e-9

    if stopped.any() and above_floor.any():
        assert level[above_floor].max() <= level[stopped].min() + 1e-9
