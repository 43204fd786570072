"""What the tests of the layout and of the reasons ask, and the situations they share."""

from typing import Final

from events.catalog import Event
from events.layouts import join
from events.state import ClusterState
from reconcilers import layout, pending
from reconcilers.reasons import Reason
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    container_started,
    layout_configured,
    node_lost,
    state_of,
)

Counts = dict[str, dict[str, int]]

FAIRLY: Final = layout_configured(policy="drf", min_run_ms=0)
"""Fairness alone, and nobody rests: who gets what is then plain to see."""


def fair(*events: Event) -> ClusterState:
    """The state in which fairness alone decides."""
    return state_of(FAIRLY, *events)


def decided(*events: Event) -> Counts:
    """The partitions that change in this situation, as counts by app and node."""
    return {
        app_id: {node_id: slots.count for node_id, slots in change.partition.items()}
        for app_id, change in join(layout.plan(fair(*events))).items()
    }


def reasons(*events: Event) -> dict[str, str]:
    """The reasons of the changes in this situation."""
    changes = join(layout.plan(fair(*events)))
    return {app_id: change.reason for app_id, change in changes.items()}


def devices(*events: Event) -> dict[str, tuple[str, ...]]:
    """The devices on n1 by app, of the partitions that change."""
    changes = join(layout.plan(fair(*events)))
    return {app_id: change.partition["n1"].devices for app_id, change in changes.items()}


def pinned() -> list[Event]:
    """Application a runs on n1 and n2, and n2 is lost."""
    return [
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=8),
        a_layout({"a": {"n1": 2, "n2": 2}}),
        a_generation("a", "n1", "n1", "n2", "n2"),
        node_lost("n2"),
    ]


def why(app_id: str, *events: Event) -> Reason:
    """The reason in this situation."""
    return pending.explain(state_of(*events), app_id)


def why_when_settled(app_id: str, *events: Event) -> Reason:
    """The reason after the layout has been decided."""
    return why(app_id, FAIRLY, *events, *layout.plan(fair(*events)))


def running(*more: Event) -> list[Event]:
    """Application a runs two containers on n1."""
    return [
        a_node("n1"),
        an_app("a", max=2),
        a_layout({"a": {"n1": 2}}),
        a_generation("a", "n1", "n1"),
        container_started("a", rank=0),
        container_started("a", rank=1),
        *more,
    ]
