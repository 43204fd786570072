"""Why is my application not running? The messages that users read."""

import pytest

from events.catalog import Event
from reconcilers.reasons import ReasonCode
from tests.builders import (
    BY_TEST,
    a_layout,
    a_node,
    an_app,
    app_cancel_requested,
    app_cancelled,
    app_completed,
    app_failed,
    app_quarantined,
    app_retrying,
    checkpoint_requested,
    container_exited,
    generation_stopped,
    node_lost,
    stop_requested,
)
from tests.reconcilers.situations import running, why

# All is well


def test_a_running_app_says_how_large_it_is_and_why() -> None:
    """`dorm why` answers for every app, not only for those in trouble."""
    actual = why("a", *running())

    assert (ReasonCode.RUNNING, "runs 2 containers: fair share") == (actual.code, actual.message)


def test_a_starting_app_says_how_far_it_is() -> None:
    """Images take their time."""
    actual = why("a", *running()[:-1])

    assert (ReasonCode.STARTING, "1 of 2 containers started") == (actual.code, actual.message)
    assert {"generation": 1, "containers": 2, "started": 1} == actual.numbers


def test_an_app_whose_containers_all_ended_is_about_to_be_closed() -> None:
    """The moment before its completion is no failure."""
    actual = why("a", *running(container_exited("a", rank=0), container_exited("a", rank=1)))

    assert (ReasonCode.RUNNING, "all 2 containers ended; about to be closed") == (
        actual.code,
        actual.message,
    )


def test_a_quarantined_app_says_so_with_the_way_out() -> None:
    """Its user sees others served, and must know why, and what to do."""
    keeping = why("a", *running(app_quarantined("a", reason="no memory left")))
    waiting = why("a", a_node("n1"), an_app("a"), app_quarantined("a", reason="no memory left"))

    left_out = "no layout could be decided with it (no memory left), so it is left out"
    assert (ReasonCode.QUARANTINED, f"keeps its 2 containers: {left_out}") == (
        keeping.code,
        keeping.message,
    )
    assert (ReasonCode.QUARANTINED, f"has nothing yet: {left_out}") == (
        waiting.code,
        waiting.message,
    )
    assert (
        "change what is odd about it with `dorm set a`, or try again as it is with `dorm retry a`"
        == waiting.hint
    )


def test_trouble_of_its_own_comes_before_a_quarantine() -> None:
    """A container that failed is what its user has to look at first."""
    failing = why("a", *running(app_quarantined("a"), container_exited("a", exit_code=1)))

    assert ReasonCode.BACKOFF == failing.code


def test_a_resize_is_announced_then_under_way() -> None:
    """The pause of a training has a name from the decision to the restart."""
    decided = running(a_layout({"a": {"n1": 1}}, generation=2, reason="makes room for b"))
    under_way = [
        *decided,
        checkpoint_requested("a", reason="makes room for b"),
        container_exited("a", rank=0),
    ]

    before, after = why("a", *decided), why("a", *under_way)

    assert {ReasonCode.RESIZING} == {before.code, after.code}
    assert "is about to go from 2 to 1 container: makes room for b" == before.message
    assert (
        "saves its work to go from 2 to 1 container, 1 still there: makes room for b"
        == after.message
    )
    assert {"containers": 2, "left": 1, "next": 1} == after.numbers


# The end


@pytest.mark.parametrize(
    ("ends", "code", "message"),
    [
        ([app_completed("a")], ReasonCode.FINISHED, "completed"),
        ([app_cancelled("a")], ReasonCode.FINISHED, "cancelled"),
        (
            [app_failed("a", reason="exit code 1; gave up after 3 retries")],
            ReasonCode.FAILED,
            "failed: exit code 1; gave up after 3 retries",
        ),
    ],
)
def test_a_finished_app_says_how_it_ended(
    ends: list[Event], code: ReasonCode, message: str
) -> None:
    """The answer outlives the app."""
    actual = why("a", an_app("a"), *ends)

    assert (code, message) == (actual.code, actual.message)


def test_a_cancelled_app_says_what_is_left_of_it() -> None:
    """Its containers are given their time to save."""
    actual = why("a", *running(app_cancel_requested("a"), container_exited("a", rank=0)))

    assert (ReasonCode.CANCELLING, "is being cancelled; 1 container left") == (
        actual.code,
        actual.message,
    )


def test_a_cancelled_app_on_a_lost_node_says_how_to_let_go() -> None:
    """Nobody can stop what nobody reaches; an operator can vouch for it."""
    actual = why("a", *running(app_cancel_requested("a"), node_lost("n1")))

    assert ReasonCode.CANCELLING == actual.code
    assert "is being cancelled; 2 containers left, some on lost nodes: n1" == actual.message
    assert "dorm forget n1" in actual.hint


# Failures


def failing() -> list[Event]:
    """One container of a failed, and its peer is being stopped."""
    return running(container_exited("a", rank=0, exit_code=1), stop_requested("a", cause="failure"))


def test_a_failing_app_says_what_is_still_to_be_stopped() -> None:
    """Most frameworks never notice a dead peer."""
    actual = why("a", *failing())

    assert ReasonCode.BACKOFF == actual.code
    assert "a container failed; 1 of 2 are stopped before it may be tried again" == actual.message


def test_an_app_in_backoff_says_when_it_is_tried_again() -> None:
    """The wait doubles, so the time is worth knowing."""
    stopped = [*failing(), container_exited("a", rank=1), generation_stopped("a")]

    undecided, waiting = why("a", *stopped), why("a", *stopped, app_retrying("a"))

    assert {ReasonCode.BACKOFF} == {undecided.code, waiting.code}
    assert (
        "failed (a container failed); whether it is tried again is about to be decided"
        == undecided.message
    )
    assert "failed (exit code 1), 1 of 3 retries used; waits" == waiting.message
    assert BY_TEST.at_ms + 5_000 == waiting.numbers["retry_at_ms"]
