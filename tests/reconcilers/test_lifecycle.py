"""What the end of a container means for its application."""

import pytest

from events.apps import AppRetrying, RetryPolicy
from events.catalog import Event
from events.generations import StopRequested
from reconcilers import lifecycle
from reconcilers.lifecycle import backoff_ms
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_cancel_requested,
    app_cancelled,
    app_completed,
    app_failed,
    app_requeued,
    app_retrying,
    checkpoint_requested,
    container_exited,
    container_started,
    generation_stopped,
    node_forgotten,
    node_lost,
    state_of,
    stop_requested,
)
from tests.story import given


def two_running(**spec: object) -> list[Event]:
    """An application with two containers running on n1 and n2."""
    return [
        a_node("n1"),
        a_node("n2"),
        an_app("a", **spec),
        a_layout({"a": {"n1": 1, "n2": 1}}),
        a_generation("a", "n1", "n2"),
        container_started("a", rank=0, node_id="n1"),
        container_started("a", rank=1, node_id="n2"),
    ]


def failed(*, step: int | None = None) -> list[Event]:
    """Both containers end badly, and the generation is stopped."""
    return [
        container_exited("a", rank=0, node_id="n1", exit_code=1, checkpoint_step=step),
        stop_requested("a", cause="failure", reason="container 0 ended with exit code 1"),
        container_exited("a", rank=1, node_id="n2", exit_code=1),
        generation_stopped("a"),
    ]


def test_all_containers_ending_with_zero_complete_the_app() -> None:
    """Nobody asked them to stop, so their work is done."""
    given(
        *two_running(),
        container_exited("a", rank=0, node_id="n1"),
        container_exited("a", rank=1, node_id="n2"),
    ).when(lifecycle.plan, {}).then(app_completed("a"))


def test_one_of_two_ending_with_zero_decides_nothing_yet() -> None:
    """Ranks end within moments of each other; the last one decides."""
    given(*two_running(), container_exited("a", rank=0, node_id="n1")).when(
        lifecycle.plan, {}
    ).then()


def test_a_failed_container_stops_its_whole_generation() -> None:
    """Many frameworks never notice a dead peer and would hold their devices for ever."""
    given(*two_running(), container_exited("a", rank=1, node_id="n2", exit_code=3)).when(
        lifecycle.plan, {}
    ).then(
        StopRequested(
            app_id="a",
            generation=1,
            cause="failure",
            reason="container 1 ended with exit code 3",
        )
    )


def test_exit_codes_after_a_request_mean_nothing() -> None:
    """A torchrun ends with 1 although its worker saved and left with 0."""
    given(
        *two_running(),
        checkpoint_requested("a"),
        container_exited("a", rank=0, node_id="n1", exit_code=1),
        container_exited("a", rank=1, node_id="n2", exit_code=143),
    ).when(lifecycle.plan, {}).then()


def test_a_cancel_stops_the_containers_first() -> None:
    """A terminal fact is written only when the last container is gone."""
    story = given(*two_running(), app_cancel_requested("a"))

    story.when(lifecycle.plan, {}).then(
        stop_requested("a", cause="cancel", reason="cancelled by its user")
    )


def test_a_cancel_during_a_resize_is_not_lost() -> None:
    """The stop under way changes its purpose."""
    given(*two_running(), checkpoint_requested("a"), app_cancel_requested("a")).when(
        lifecycle.plan, {}
    ).then(stop_requested("a", cause="cancel", reason="cancelled by its user"))


def test_a_cancel_is_complete_when_nothing_runs() -> None:
    """A waiting application is cancelled at once."""
    given(an_app("a"), app_cancel_requested("a")).when(lifecycle.plan, {}).then(app_cancelled("a"))


def test_a_failure_is_retried_after_a_wait_that_the_event_carries() -> None:
    """As a length: two masters may not agree on what time it is."""
    retry = RetryPolicy(max=2, backoff_ms=1_000)
    given(*two_running(retry=retry), *failed()).when(lifecycle.plan, {}).then(
        app_retrying(
            "a",
            attempt=1,
            wait_ms=backoff_ms(retry, "a", 1),
            reason="container 0 ended with exit code 1",
        )
    )


def test_the_wait_ends_when_its_time_has_come() -> None:
    """Not a millisecond before."""
    history = [*two_running(), *failed(), app_retrying("a", wait_ms=5_000)]

    given(*history).when(lifecycle.plan, {"a": 4_999}).then()
    given(*history).when(lifecycle.plan, {"a": 5_000}).then(app_requeued("a"))


def test_retries_are_bounded() -> None:
    """A crash loop ends, with the failure as its reason."""
    given(*two_running(retry=RetryPolicy(max=0)), *failed()).when(lifecycle.plan, {}).then(
        app_failed("a", reason="container 0 ended with exit code 1; gave up after 0 retries")
    )


def test_what_no_retry_mends_is_not_retried() -> None:
    """The user reads at once that the image does not exist, not after minutes of waits."""
    given(
        *two_running(retry=RetryPolicy(max=3)),
        container_exited(
            "a", node_id="n1", exit_code=None, reason="start_error", final=True, message="no image"
        ),
        stop_requested("a", cause="failure", reason="container 0 could not be started: no image"),
        container_exited("a", rank=1, node_id="n2", exit_code=143),
        generation_stopped("a"),
    ).when(lifecycle.plan, {}).then(
        app_failed(
            "a", reason="container 0 could not be started: no image; no retry would mend that"
        )
    )


def test_saved_progress_forgives_earlier_failures() -> None:
    """A training that fails once a day for a month is not a crash loop."""
    state = state_of(
        *two_running(retry=RetryPolicy(max=1)),
        *failed(step=10),
        app_retrying("a", attempt=1),
        app_requeued("a"),
        a_generation("a", "n1", "n2", generation=2),
        container_exited("a", rank=0, node_id="n1", generation=2, exit_code=1, checkpoint_step=20),
        container_exited("a", rank=1, node_id="n2", generation=2, exit_code=1),
        stop_requested("a", generation=2, cause="failure", reason="again"),
        generation_stopped("a", generation=2),
    )

    (fact,) = lifecycle.plan(state, {})

    assert app_retrying("a", attempt=1, wait_ms=fact.wait_ms, reason="again") == fact  # type: ignore[union-attr]


@pytest.mark.parametrize(("reason", "exit_code"), [("lost", None), ("exited", 143)])
def test_a_lost_node_does_not_use_up_retries(reason: str, exit_code: int | None) -> None:
    """The application did nothing wrong, however its other containers end when they are stopped."""
    story = given(
        *two_running(retry=RetryPolicy(max=0)),
        node_lost("n1"),
        node_forgotten("n1"),
        stop_requested("a", cause="failure", reason="node n1 was forgotten"),
        container_exited("a", rank=1, node_id="n2", exit_code=exit_code, reason=reason),
        generation_stopped("a"),
    )

    (fact,) = lifecycle.plan(story.state, {})

    assert isinstance(fact, AppRetrying)
    assert fact.attempt == 0


@pytest.mark.parametrize(
    ("attempt", "base_ms"), [(0, 100), (1, 100), (2, 200), (5, 1_000), (60, 1_000)]
)
def test_the_wait_doubles_up_to_its_bound(attempt: int, base_ms: int) -> None:
    """With at most a fifth of jitter on top."""
    wait_ms = backoff_ms(RetryPolicy(backoff_ms=100, backoff_max_ms=1_000), "a", attempt)

    assert base_ms <= wait_ms <= base_ms * 6 // 5
