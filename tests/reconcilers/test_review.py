"""When time alone makes the layout due."""

import pytest

from events.catalog import Event
from events.fold import fold
from events.policy import LayoutDue, LayoutRules
from events.recorded import Stamp
from reconcilers import review
from tests import builders as b
from tests.story import given

TEN_MIN = 600_000
WAITING = (b.a_node("n1"), b.an_app("a"))
CHANGED = (
    *WAITING,
    b.a_layout({"a": {"n1": 1}}),
    b.a_layout({"a": {"n1": 2}}, generation=2),
)
FAILED = (
    *CHANGED,
    b.a_generation("a"),
    b.container_exited("a", exit_code=1),
    b.stop_requested("a", cause="failure", reason="container 0 ended with exit code 1"),
    b.generation_stopped("a"),
    b.a_layout({"a": {}}, generation=3),
)


@pytest.mark.parametrize(
    "events",
    [
        pytest.param(WAITING, id="an app waits for its first partition"),
        pytest.param((*CHANGED, b.a_layout({"a": {}}, generation=3)), id="an app lost its own"),
        pytest.param(CHANGED, id="an app rests after a change"),
    ],
)
def test_what_waits_for_time_makes_the_layout_due(events: tuple[Event, ...]) -> None:
    """Nothing else would ever wake the masters: a gang could wait for good."""
    story = given(*events)

    story.when(review.plan, TEN_MIN - 1).then()
    story.when(review.plan, TEN_MIN + 5).then(LayoutDue(waited_ms=TEN_MIN + 5))


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((), id="nothing is there"),
        pytest.param((b.a_node("n1"),), id="no app is there"),
        pytest.param((b.an_app("a"),), id="no node is there"),
        pytest.param((*WAITING, b.node_lost("n1")), id="every node is lost"),
        pytest.param((*WAITING, b.app_cancel_requested("a")), id="it is on its way out"),
        pytest.param((*WAITING, b.app_quarantined("a")), id="it is quarantined"),
        pytest.param(FAILED, id="its failure is to be answered first"),
        pytest.param((*FAILED, b.app_retrying("a")), id="it waits for a retry"),
        pytest.param((*CHANGED, b.layout_due(TEN_MIN)), id="it has rested"),
    ],
)
def test_where_nothing_waits_for_time_nothing_is_written(events: tuple[Event, ...]) -> None:
    """An idle cluster's log must not grow, however long it is idle."""
    given(*events).when(review.plan, 100 * TEN_MIN).then()


def test_looks_for_the_sake_of_rests_keep_a_distance() -> None:
    """Short rests are for experiments; they must not fill the log."""
    assert 10_000 == review.pause_ms(LayoutRules(min_run_ms=1_000))
    assert 90_000 == review.pause_ms(LayoutRules(min_run_ms=900_000))


def test_a_first_start_is_no_disturbance() -> None:
    """Who has just come may be asked at once to make room for the next one."""
    given(*WAITING, b.a_layout({"a": {"n1": 1}})).when(review.plan, 100 * TEN_MIN).then()


def test_reviews_let_time_pass_although_the_leaders_clock_stands_still() -> None:
    """Masters' clocks differ: what one measured as a wait counts, whatever its date says."""
    late = Stamp(at_ms=5, actor="master/m1")
    history = b.history(*CHANGED, b.layout_due(TEN_MIN), stamp=late)

    assert 5 + TEN_MIN == fold(history).now_ms
    assert () == review.plan(fold(history), TEN_MIN)
