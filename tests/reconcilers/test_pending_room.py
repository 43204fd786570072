"""Why an application has no room, or not yet."""

import pytest

from events.catalog import Event
from events.codec import to_plain
from events.errors import NotFound
from events.layouts import Slots
from reconcilers import layout, pending
from reconcilers.reasons import ReasonCode
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    gpu,
    node_lost,
    state_of,
)
from tests.reconcilers.situations import FAIRLY, fair, running, why, why_when_settled

# No room


def test_an_empty_cluster_has_no_nodes() -> None:
    """The first thing that a new user forgets is an agent."""
    actual = why("a", an_app("a"))

    assert (ReasonCode.NO_NODES, "no node has reported yet") == (actual.code, actual.message)
    assert "start an agent with `dorm agent`" == actual.hint


def test_a_cluster_of_lost_nodes_has_none_either() -> None:
    """Their names tell the operator where to look."""
    actual = why("a", a_node("n1"), a_node("n2"), node_lost("n1"), node_lost("n2"), an_app("a"))

    assert (ReasonCode.NO_NODES, "all 2 nodes are lost: n1, n2") == (actual.code, actual.message)


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        (
            {"cpus": 4},
            "one container asks for 4 cpus; the largest node has 2 cpus",
            "ask for at most 2 cpus, or add a larger node",
        ),
        (
            {"cpus": 2.5},
            "one container asks for 2.5 cpus; the largest node has 2 cpus",
            "ask for at most 2 cpus, or add a larger node",
        ),
        (
            {"memory_gib": 64},
            "one container asks for 64 GiB; the largest node has 16 GiB",
            "ask for at most 16 GiB, or add a larger node",
        ),
        (
            {"gpus": 1},
            "one container asks for 1 GPU; the largest node has 0 GPUs",
            "ask for at most 0 GPUs, or add a larger node",
        ),
        (
            {"cpus": 2, "memory_gib": 8},
            "no single node has 2 cpus, 8 GiB for one container",
            "ask for at most 1 cpu, 8 GiB, which fits on n2, or add a larger node",
        ),
        (
            {"cpus": 2, "min": 3},
            (
                "needs 3 containers at once (scale.min) of 2 cpus, 1 GiB each; "
                "the whole cluster, empty, has places for 1"
            ),
            "set its scale.min to 1 or lower, or add nodes",
        ),
    ],
)
def test_what_never_fits_is_told_the_nearest_thing_that_does(
    spec: dict[str, int], message: str, hint: str
) -> None:
    """Waiting would be for ever, so the user must change something."""
    actual = why("a", a_node("n1", cpus=2, memory_gib=2), a_node("n2", cpus=1), an_app("a", **spec))

    assert (ReasonCode.NEVER_FITS, message, hint) == (actual.code, actual.message, actual.hint)


def test_a_busy_cluster_says_who_holds_it_and_what_would_help() -> None:
    """Each way out is one that would really work."""
    actual = why_when_settled(
        "b",
        a_node("n1"),
        an_app("a", min=2, max=4),
        a_layout({"a": {"n1": 4}}),
        an_app("b", min=3, max=4),
    )

    assert ReasonCode.NOT_ENOUGH_ROOM == actual.code
    assert (
        "needs 3 containers at once (scale.min) of 1 cpu, 1 GiB each; "
        "there is room for 2, the rest is held by a (4 of 4 cpus)" == actual.message
    )
    assert actual.hint.startswith("set its scale.min to 2 (`dorm set b --min 2`); or wait until")
    assert {"needed": 3, "places": 2} == actual.numbers


def test_the_advised_minimum_really_helps() -> None:
    """Advice that does not work is worse than none."""
    cluster: list[Event] = [a_node("n1"), an_app("a", min=2), a_layout({"a": {"n1": 4}})]
    advised = why_when_settled("b", *cluster, an_app("b", min=3)).numbers["places"]

    events: list[Event] = [*cluster, an_app("b", min=advised)]

    assert fair(*events, *layout.plan(fair(*events))).apps["b"].partition


def test_apps_at_their_smallest_are_named_as_who_could_shrink() -> None:
    """Only they stand between the waiting app and its room."""
    actual = why_when_settled(
        "b", a_node("n1"), an_app("a", min=4), a_layout({"a": {"n1": 4}}), an_app("b")
    )

    assert "there is room for 0" in actual.message
    assert actual.hint.startswith("lower the scale.min of a, now at their smallest; or ")


def test_a_lost_node_that_would_have_been_enough_is_named() -> None:
    """Bringing it back is the shortest way."""
    actual = why("a", a_node("n1", cpus=1), a_node("n2"), node_lost("n2"), an_app("a", min=3))

    assert ReasonCode.NOT_ENOUGH_ROOM == actual.code
    assert "bring back the lost nodes n2" in actual.hint


def test_an_app_that_fits_awaits_the_decision() -> None:
    """Spare containers of others count as room, as they do for the decision."""
    cluster: list[Event] = [a_node("n1"), an_app("a"), a_layout({"a": {"n1": 4}})]

    actual = why("b", FAIRLY, *cluster, an_app("b", min=3))

    assert ReasonCode.AWAITING_DECISION == actual.code
    assert "there is room for its 3 containers; the next decision places it" == actual.message


# Room that is granted, and not yet free


def granted(*more: Event) -> list[Event]:
    """Application a runs on all of n1 (and is to shrink); b is granted the half of it."""
    return [
        a_node("n1"),
        an_app("a"),
        a_layout({"a": {"n1": 4}}),
        a_generation("a", "n1", "n1", "n1", "n1"),
        an_app("b"),
        a_layout({"a": {"n1": 2}}, generation=2),
        a_layout({"b": {"n1": 2}}, decision_id="d2"),
        *more,
    ]


def test_an_app_waits_for_the_checkpoint_of_another() -> None:
    """Its room is promised; the name says whose pace it is."""
    actual = why("b", *granted())

    assert ReasonCode.WAITING_FOR_CHECKPOINT == actual.code
    assert "its room is still used by a, to be given up after a checkpoint" == actual.message


def test_an_app_whose_devices_are_still_in_use_waits_too() -> None:
    """Cpu and memory may be free long before a GPU is."""
    device = Slots(count=1, devices=(gpu("n1"),))

    actual = why(
        "b",
        a_node("n1", gpus=2),
        an_app("a", gpus=1),
        a_layout({"a": {"n1": device}}),
        a_generation("a", "n1", gpus=1),
        an_app("b", gpus=1),
        a_layout({"a": {}}, generation=2),
        a_layout({"b": {"n1": device}}, decision_id="d2"),
    )

    assert ReasonCode.WAITING_FOR_CHECKPOINT == actual.code


def test_an_app_whose_room_is_free_is_about_to_start() -> None:
    """Nothing is in the way any more."""
    actual = why("a", a_node("n1"), an_app("a"), a_layout({"a": {"n1": 2}}))

    assert (ReasonCode.STARTING, "2 containers (2 of 4 cpus) are about to start") == (
        actual.code,
        actual.message,
    )


def test_an_app_whose_granted_node_was_lost_awaits_another_decision() -> None:
    """It has nothing there yet, so it only needs another place."""
    actual = why("a", a_node("n1"), an_app("a"), a_layout({"a": {"n1": 2}}), node_lost("n1"))

    assert ReasonCode.AWAITING_DECISION == actual.code
    assert "was to start on n1, which is lost; other places are being sought" == actual.message


def test_containers_on_a_lost_node_must_be_released_first() -> None:
    """They may still be running: starting others would train twice."""
    actual = why("a", *running(node_lost("n1")))

    assert ReasonCode.WAITING_FOR_RELEASE == actual.code
    assert (
        "2 of its 2 containers may still run on lost nodes: n1; "
        "nothing starts elsewhere while they may" == actual.message
    )
    assert (
        "wait for its agent, or `dorm forget n1` once that machine is off for good" == actual.hint
    )


def test_an_app_behind_one_that_cannot_be_stopped_says_so() -> None:
    """The lost node is not its own, yet it waits for it."""
    actual = why(
        "b",
        a_node("n1"),
        a_node("n2"),
        an_app("a"),
        a_layout({"a": {"n1": 4, "n2": 1}}),
        a_generation("a", "n1", "n1", "n1", "n1", "n2"),
        an_app("b"),
        a_layout({"b": {"n1": 2}}, decision_id="d2"),
        node_lost("n2"),
    )

    assert ReasonCode.WAITING_FOR_RELEASE == actual.code
    assert "its room is still used by a, which cannot be stopped while n2 is lost" == actual.message


# For tools


def test_an_unknown_app_is_refused() -> None:
    """A typo must not read like an answer."""
    with pytest.raises(NotFound, match="nope is no application"):
        why("nope", an_app("a"))


def test_a_reason_is_plain_data() -> None:
    """`-o json` and the API send it as it is."""
    plain = to_plain(why("a", an_app("a")))

    assert {
        "code": "NoNodes",
        "message": "no node has reported yet",
        "hint": "start an agent with `dorm agent`",
        "numbers": {"lost": 0},
    } == plain


def test_all_reasons_at_once_are_the_same_as_one_by_one() -> None:
    """`dorm ps` asks for all, `dorm why` for one."""
    waiting = [an_app("c", min=3), an_app("d", min=3), an_app("e", cpus=9)]
    busy, free = state_of(*granted(*waiting)), state_of(a_node("n1"), *waiting)

    for state in (busy, free):
        one_by_one = {app_id: pending.explain(state, app_id) for app_id in state.apps}
        assert one_by_one == pending.explain_all(state)
