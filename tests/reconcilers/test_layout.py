"""Who gets how many containers, and where."""

import attrs
import pytest

from events.catalog import Event
from events.layouts import Slots
from reconcilers import layout
from reconcilers.layout import Limit, Verdict
from reconcilers.layout.policies.drf.board import Board
from reconcilers.layout.policies.drf.placement import ANY_SHARE, make_way
from reconcilers.layout.pose import pose
from reconcilers.layout.wording import Wording
from tests.builders import (
    a_layout,
    a_node,
    an_app,
    app_changed,
    node_lost,
)
from tests.reconcilers.situations import decided, fair, reasons

# Sizes


def test_the_first_app_takes_the_whole_cluster() -> None:
    """An idle machine helps nobody."""
    actual = decided(a_node("n1"), a_node("n2"), an_app("a", max=9))

    assert {"a": {"n1": 4, "n2": 4}} == actual


def test_nobody_gets_more_than_scale_max() -> None:
    """The user knows from where on more containers do not help."""
    events: list[Event] = [a_node("n1", cpus=8), an_app("a", max=3)]

    assert {"a": {"n1": 3}} == decided(*events)
    assert {"a": "3 containers; fair share 3 of 8 cpus; limited by scale.max 3"} == reasons(*events)


def test_a_second_app_takes_back_half() -> None:
    """Fairness takes what was only ever spare."""
    events: list[Event] = [a_node("n1"), an_app("a"), a_layout({"a": {"n1": 4}}), an_app("b")]

    assert {"a": {"n1": 2}, "b": {"n1": 2}} == decided(*events)
    assert {
        "a": "4 to 2 containers; fair share 2 of 4 cpus; makes room for b; limited by cpus",
        "b": "2 containers; fair share 2 of 4 cpus; room of a; limited by cpus",
    } == reasons(*events)


def test_equal_shares_of_different_resources_are_fair() -> None:
    """Dominant shares count: one app lives on cpu, the other on memory (NSDI 2011, section 4.1)."""
    actual = decided(
        a_node("n1", cpus=9, memory_gib=18),
        an_app("a", cpus=1, memory_gib=4, max=99),
        an_app("b", cpus=3, memory_gib=1, max=99),
    )

    assert {"a": {"n1": 3}, "b": {"n1": 2}} == actual


def test_weights_scale_the_shares() -> None:
    """Twice the weight is twice the share."""
    actual = decided(a_node("n1", cpus=9), an_app("a", max=9), an_app("b", max=9, weight=2.0))

    assert {"a": {"n1": 3}, "b": {"n1": 6}} == actual


def test_weights_that_are_no_binary_fractions_are_compared_exactly() -> None:
    """Of thirty equal apps, rounding must not favour one: 0.1 three times is not 0.3."""
    apps = [an_app(f"a{number:02}", max=9, weight=0.1) for number in range(30)]

    actual = decided(a_node("n1", cpus=90, memory_gib=90), *apps)

    assert {f"a{number:02}": {"n1": 3} for number in range(30)} == actual


def test_equal_shares_of_unequal_containers_tie_exactly() -> None:
    """Three tenths are three tenths: in floats the three of a are more than the one of b."""
    actual = decided(
        a_node("n1", cpus=10), an_app("a", max=9), an_app("b", cpus=3), an_app("c", max=1)
    )

    assert {"a": {"n1": 6}, "b": {"n1": 1}, "c": {"n1": 1}} == actual


def test_an_equal_share_that_cannot_be_had_goes_to_the_older() -> None:
    """Ties are broken the same way on every master."""
    actual = decided(a_node("n1", cpus=5), an_app("z"), an_app("a"))

    assert {"z": {"n1": 3}, "a": {"n1": 2}} == actual


def test_order_of_submission_is_that_of_the_log_not_of_the_keys() -> None:
    """A master that began from a snapshot has sorted keys, and must decide the same."""
    state = fair(a_node("n1", cpus=5), an_app("z"), an_app("a"))
    resorted = attrs.evolve(state, apps=dict(sorted(state.apps.items())))

    assert layout.plan(state) == layout.plan(resorted)


def test_a_changed_weight_moves_room() -> None:
    """`dorm set --weight` is felt at the next decision."""
    actual = decided(
        a_node("n1", cpus=6),
        an_app("a", max=9),
        an_app("b", max=9),
        a_layout({"a": {"n1": 3}, "b": {"n1": 3}}),
        app_changed("b", weight=2.0),
    )

    assert {"a": {"n1": 2}, "b": {"n1": 4}} == actual


def test_a_lowered_maximum_is_respected() -> None:
    """What is above goes to who can use it."""
    events: list[Event] = [
        a_node("n1"),
        an_app("a"),
        an_app("b"),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(1, 1)),
    ]

    assert {"a": {"n1": 1}, "b": {"n1": 3}} == decided(*events)
    assert "scale.max is now 1" in reasons(*events)["a"]


def test_a_raised_minimum_is_respected_at_the_cost_of_spare_containers() -> None:
    """Others give what they have above their own minimum."""
    actual = decided(
        a_node("n1"),
        an_app("a"),
        an_app("b"),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(3, 4)),
    )

    assert {"a": {"n1": 3}, "b": {"n1": 1}} == actual


def test_a_minimum_raised_beyond_reach_releases_the_app() -> None:
    """An app never runs below its minimum; it waits instead."""
    events: list[Event] = [
        a_node("n1"),
        an_app("a"),
        an_app("b", min=2),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(3, 4)),
    ]

    assert {"a": {}, "b": {"n1": 4}} == decided(*events)
    assert (
        "released: 2 to 0 containers; no room for scale.min 3; makes room for b"
        == reasons(*events)["a"]
    )


# Gangs


def test_a_minimum_is_given_whole_or_not_at_all() -> None:
    """Half a gang only waits for its peers."""
    actual = decided(a_node("n1"), an_app("a", min=3, max=3), an_app("b", min=2, max=2))

    assert {"a": {"n1": 3}} == actual


def test_what_does_not_fit_is_passed_over() -> None:
    """A small app does not wait behind a large one (backfill)."""
    actual = decided(
        a_node("n1"), an_app("a", min=3, max=3), an_app("b", min=2, max=2), an_app("c", max=9)
    )

    assert {"a": {"n1": 3}, "c": {"n1": 1}} == actual


def test_a_running_app_is_never_evicted_for_a_waiting_one() -> None:
    """Work that runs at its smallest size goes on, however heavy the newcomer is."""
    actual = decided(
        a_node("n1"),
        an_app("a", min=4),
        a_layout({"a": {"n1": 4}}),
        an_app("b", weight=1000.0),
    )

    assert {} == actual


def test_an_app_that_lost_its_place_comes_before_one_that_never_had_any() -> None:
    """It was promised room first; the older one has waited, and loses nothing."""
    actual = decided(
        a_node("n1", cpus=2),
        an_app("older", min=2, max=2),
        an_app("holder", min=2, max=2),
        a_layout({"holder": {"n1": 2}}),
        a_node("n2", cpus=2),
        node_lost("n1"),
    )

    assert {"holder": {"n2": 2}} == actual


def test_room_that_is_released_is_given_away_in_the_same_decision() -> None:
    """A decision is taken until it settles, so nobody waits for the next one."""
    actual = decided(
        a_node("n1"),
        an_app("a", min=2, max=2),
        an_app("b", min=2, max=2),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        an_app("c", min=2, max=2),
        app_changed("a", scale=(5, 5)),
    )

    assert {"a": {}, "c": {"n1": 2}} == actual


def test_running_apps_shrink_to_their_minimum_for_a_waiting_gang() -> None:
    """A gang that fits into what is spare must not starve."""
    actual = decided(
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=8),
        an_app("b", max=8),
        a_layout({"a": {"n1": 4}, "b": {"n2": 4}}),
        an_app("c", min=6, max=6),
    )

    assert {"a": {"n1": 1}, "b": {"n2": 1}, "c": {"n1": 3, "n2": 3}} == actual


def test_the_richest_makes_way() -> None:
    """Whoever has the most gives, however the containers lie."""
    state = fair(
        a_node("n1", cpus=8),
        an_app("a", max=8),
        an_app("b", max=8),
        an_app("c", max=1),
        a_layout({"a": {"n1": 5}, "b": {"n1": 3}}),
    )
    board = Board.lay_out(pose(state).snapshot)

    way = make_way(board, board.holdings["c"], (0, ANY_SHARE))

    assert way is not None
    assert ["a"] == [giver.app.app_id for giver in way.givers]


def test_two_small_ones_make_way_for_a_large_container() -> None:
    """Room on different nodes adds up to nothing: the place must be on one."""
    actual = decided(
        a_node("n1", cpus=4),
        a_node("n2", cpus=4),
        an_app("a", max=8),
        a_layout({"a": {"n1": 4, "n2": 4}}),
        an_app("big", cpus=3, max=1),
    )

    assert {"a": {"n1": 1, "n2": 4}, "big": {"n1": 1}} == actual


# Reasons


def worded(count: int, verdict: Verdict | None) -> str:
    """Why the app that had nothing gets so many containers of one cpu, on four."""
    state = fair(a_node("n1"), an_app("a", max=9))
    new = {"a": {"n1": Slots(count=count)}}
    return Wording.of(state, {"a": {}}, new).reason(state.apps["a"], verdict)


@pytest.mark.parametrize(
    ("limit", "resource", "words"),
    [
        (Limit.AT_MAX, "", "; limited by scale.max 9"),
        (Limit.RESOURCE, "gpu", "; limited by GPUs"),
        (Limit.FAIR_SHARE, "", "; limited by its fair share"),
        (Limit.NOT_WORTH_IT, "", "; more would not be worth the restart"),
        (Limit.TOUCH_BUDGET, "", "; limited by how many applications one decision may disturb"),
        (Limit.RESTS, "", ""),
    ],
)
def test_a_reason_says_what_kept_an_app_from_more(limit: Limit, resource: str, words: str) -> None:
    """The user sees which of them to change."""
    verdict = Verdict(containers=2, fair_containers=2.0, limit=limit, resource=resource)

    assert f"2 containers; fair share 2 of 4 cpus{words}" == worded(2, verdict)


def test_a_reason_tells_the_fair_share_from_what_was_given() -> None:
    """The optimizer gives more or less than that, where it is worth it."""
    more = Verdict(containers=3, fair_containers=2.04, limit=Limit.RESTS)
    nothing_due = Verdict(containers=3, fair_containers=0.0, limit=Limit.RESTS)

    assert "3 containers; 3 of 4 cpus, fair share 2 containers" == worded(3, more)
    assert "3 containers; 3 of 4 cpus" == worded(3, nothing_due)
    assert "3 containers; 3 of 4 cpus" == worded(3, None)
