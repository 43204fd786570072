"""What a change would do is known before it is made."""

from reconcilers.foresight import would_stop
from tests.builders import a_generation, a_layout, a_node, an_app, app_changed
from tests.reconcilers.situations import fair

STATE = fair(
    a_node("n1", cpus=4),
    an_app("a", min=1, max=2),
    an_app("b", min=1, max=2),
    a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
    a_generation("a", "n1", "n1"),
    a_generation("b", "n1", "n1"),
    an_app("waiting", min=4),
)


def test_a_minimum_that_cannot_be_met_would_stop_a_running_app() -> None:
    """A gang is all or nothing: the containers that it has would be taken from it."""
    assert would_stop(STATE, app_changed("a", scale=(5, 5)))


def test_a_minimum_that_others_can_make_room_for_stops_nobody() -> None:
    """The other one has a container to spare."""
    assert not would_stop(STATE, app_changed("a", scale=(3, 3)))


def test_what_runs_nothing_cannot_be_stopped() -> None:
    """A waiting application, and one that nobody knows."""
    assert not would_stop(STATE, app_changed("waiting", scale=(9, 9)))
    assert not would_stop(STATE, app_changed("nobody", scale=(9, 9)))
