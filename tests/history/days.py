"""Histories of one day, as a log keeps them."""

from events.recorded import Recorded
from reconcilers import layout
from tests.builders import (
    BY_TEST,
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_completed,
    checkpoint_requested,
    container_exited,
    container_started,
    generation_stopped,
    history,
    leader_elected,
    state_of,
)

__all__ = ["BY_TEST", "a_day", "a_decided_day"]


def a_day() -> tuple[Recorded, ...]:
    """Two applications share two nodes: one shrinks for the other, and completes."""
    return history(
        leader_elected("m1", epoch=5),
        a_node("n1", cpus=2),
        a_node("n2", cpus=2),
        an_app("digits-1", name="digits", max=2),
        a_layout({"digits-1": {"n1": 1, "n2": 1}}, policy="test/1", input_revision=4),
        a_generation("digits-1", "n1", "n2"),
        container_started("digits-1", rank=0, node_id="n1"),
        container_started("digits-1", rank=1, node_id="n2"),
        an_app("wine-2", name="wine", max=1),
        a_layout(
            {"digits-1": {"n1": 1}},
            generation=2,
            decision_id="d2",
            policy="test/1",
            input_revision=9,
        ),
        checkpoint_requested("digits-1", reason="2 -> 1 containers"),
        container_exited("digits-1", rank=0, node_id="n1", checkpoint_step=70),
        container_exited("digits-1", rank=1, node_id="n2"),
        generation_stopped("digits-1"),
        a_generation("digits-1", "n1", generation=2),
        container_started("digits-1", generation=2),
        container_exited("digits-1", generation=2, checkpoint_step=100),
        app_completed("digits-1"),
    )


def a_decided_day() -> tuple[Recorded, ...]:
    """A history whose layout was decided by this very Dorm."""
    facts = (a_node("n1"), an_app("a"), an_app("b"))
    return history(*facts, *layout.plan(state_of(*facts)))
