"""When containers are frozen, let go on, and killed."""

import math
from collections.abc import Iterable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcilers.warden import (
    Action,
    Freeze,
    Group,
    Kill,
    OnDisconnect,
    Permit,
    Thaw,
    Verdict,
    plan,
    verdict,
)

PERMIT = Permit(tenure="t1", deadline_s=10.0)


def group(
    tenure: str = "t1",
    kind: OnDisconnect = "stop",
    *,
    frozen: bool = False,
    populated: bool = True,
) -> Group:
    """Return a group."""
    return Group(tenure=tenure, on_disconnect=kind, frozen=frozen, populated=populated)


def frozen(tenure: str, why: Verdict, kind: OnDisconnect = "stop") -> Freeze:
    """Return what freezes a group."""
    return Freeze(tenure=tenure, on_disconnect=kind, why=why)


def killed(tenure: str, kind: OnDisconnect = "stop") -> Kill:
    """Return what kills a group."""
    return Kill(tenure=tenure, on_disconnect=kind, why="over")


def after(actions: Iterable[Action], groups: Iterable[Group]) -> tuple[Group, ...]:
    """Return the groups once the actions are done."""
    found = {(one.tenure, one.on_disconnect): one for one in groups}
    for action in actions:
        key = action.tenure, action.on_disconnect
        match action:
            case Freeze():
                found[key] = attrs.evolve(found[key], frozen=True)
            case Thaw():
                found[key] = attrs.evolve(found[key], frozen=False)
            case Kill():
                found[key] = attrs.evolve(found[key], frozen=True, populated=False)
    return tuple(found.values())


def test_nothing_is_done_while_the_permit_holds() -> None:
    """A training is not touched as long as its node may run it."""
    assert plan(PERMIT, [group(), group(kind="keep")], 10.0) == ()


def test_a_lapsed_permit_freezes_what_must_stop_and_leaves_what_may_go_on() -> None:
    """That is what `on_disconnect` is for."""
    assert plan(PERMIT, [group(), group(kind="keep")], 10.001) == (frozen("t1", "lapsed"),)


def test_an_empty_group_is_frozen_too() -> None:
    """A start that the engine has on its way then waits for the right, like the others."""
    assert plan(PERMIT, [group(populated=False)], 11.0) == (frozen("t1", "lapsed"),)


def test_a_renewed_permit_thaws() -> None:
    """No step is lost when the node is back in time."""
    actions = plan(PERMIT, [group(frozen=True)], 9.0)

    assert actions == (Thaw(tenure="t1", on_disconnect="stop", why="valid"),)


def test_without_a_permit_everything_that_must_stop_is_frozen_and_nothing_killed() -> None:
    """A damaged file says nothing about rights; the next one may say that all is well."""
    groups = [group("t2"), group(), group(kind="keep"), group("t0", frozen=True)]

    assert plan(None, groups, 5.0) == (frozen("t1", "unknown"), frozen("t2", "unknown"))


@pytest.mark.parametrize("now_s", [5.0, 11.0])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_group_of_another_tenure_is_killed(now_s: float, *, is_frozen: bool) -> None:
    """Its right is over, whatever the deadline says, and also if it was only frozen so far."""
    groups = [group("t0", frozen=is_frozen), group("t0", "keep", frozen=is_frozen)]

    assert plan(PERMIT, groups, now_s) == (killed("t0", "keep"), killed("t0"))


def test_an_empty_group_of_another_tenure_stays_frozen() -> None:
    """A late start lands there, and must not execute anything."""
    thawed, cold = group("t0", populated=False), group("t0", frozen=True, populated=False)

    assert plan(PERMIT, [thawed], 5.0) == (frozen("t0", "over"),)
    assert plan(PERMIT, [cold], 5.0) == ()


def test_freezing_comes_before_killing() -> None:
    """A kill takes longer, and the deadline of what still runs is now."""
    actions = plan(PERMIT, [group("t0"), group("t1")], 11.0)

    assert actions == (frozen("t1", "lapsed"), killed("t0"))


def test_what_was_made_to_go_on_is_let_go_on_also_when_the_permit_has_lapsed() -> None:
    """Such as after a warden that froze everything when it ended."""
    actions = plan(PERMIT, [group(kind="keep", frozen=True)], 11.0)

    assert actions == (Thaw(tenure="t1", on_disconnect="keep", why="valid"),)


def test_a_deadline_that_is_no_number_is_over() -> None:
    """Whatever is compared with it is false, so the rule is written the safe way round."""
    strange = Permit(tenure="t1", deadline_s=math.nan)

    assert plan(strange, [group()], 5.0) == (frozen("t1", "lapsed"),)


TENURES = st.sampled_from(["t0", "t1", "t2"])
KINDS = st.sampled_from(["stop", "keep"])
GROUPS = st.lists(
    st.builds(
        Group, tenure=TENURES, on_disconnect=KINDS, frozen=st.booleans(), populated=st.booleans()
    ),
    unique_by=lambda one: (one.tenure, one.on_disconnect),
)
SECONDS = st.floats(allow_nan=True) | st.sampled_from([0.0, 1.0])
PERMITS = st.none() | st.builds(Permit, tenure=TENURES, deadline_s=SECONDS)


@given(permit=PERMITS, groups=GROUPS, now_s=SECONDS)
def test_a_plan_is_safe_settles_and_does_not_depend_on_order(
    permit: Permit | None, groups: list[Group], now_s: float
) -> None:
    """Whatever is found, one round of actions brings exactly what the permit allows."""
    actions = plan(permit, groups, now_s)
    then = after(actions, groups)

    assert actions == plan(permit, list(reversed(groups)), now_s)
    assert len(actions) == len({(one.tenure, one.on_disconnect) for one in actions})
    assert plan(permit, then, now_s) == ()
    for one in then:
        says = verdict(permit, one, now_s)
        if says == "over":
            assert one.frozen
            assert not one.populated
        elif says == "valid":
            assert not one.frozen
        elif one.on_disconnect == "stop":
            assert one.frozen


@given(permit=PERMITS, groups=GROUPS, now_s=SECONDS)
def test_only_the_end_of_a_tenure_kills(
    permit: Permit | None, groups: list[Group], now_s: float
) -> None:
    """A kill cannot be taken back, a freeze can."""
    actions = plan(permit, groups, now_s)

    for action in actions:
        if isinstance(action, Kill):
            assert permit is not None
            assert action.tenure != permit.tenure
        if isinstance(action, Thaw):
            assert permit is not None
            assert action.tenure == permit.tenure


@given(permit=PERMITS, one=GROUPS, now_s=st.floats(0, 1e9), later_s=st.floats(0, 1e9))
def test_time_alone_never_thaws_and_never_kills(
    permit: Permit | None, one: list[Group], now_s: float, later_s: float
) -> None:
    """Only a new permit gives a right back, or takes it for good."""
    settled = after(plan(permit, one, now_s), one)

    for action in plan(permit, settled, now_s + later_s):
        assert isinstance(action, Freeze)
