"""What a layout decision is about: the nodes that offer room, and the apps that want it."""

from collections.abc import Mapping
from enum import Enum

import attrs

from events.nodes import NodeReported
from events.state import App, ClusterState
from events.units import Resources, total_of


class Treatment(Enum):
    """What a decision may do to an application.

    Attributes:
        CONTENDS: Give it any size within its bounds.
        HELD: Leave it its partition, as a reservation for its next start, or take all of it. So it
            is while a failure is waited out, and while it is quarantined.
        PINNED: Nothing: it has containers that nobody can stop. What they use is not free.
        LEAVING: Nothing: its containers are on their way out. What they use counts as free.
    """

    CONTENDS = "contending"
    HELD = "held"
    PINNED = "pinned"
    LEAVING = "leaving"


@attrs.frozen(kw_only=True)
class Problem:
    """The input of one decision, sorted so that equal states pose equal problems.

    Attributes:
        nodes: Healthy nodes by id. A lost node offers no room.
        total: What the healthy nodes have together.
        contenders, held, pinned: Applications in order of submission.
    """

    nodes: Mapping[str, NodeReported]
    total: Resources
    contenders: tuple[App, ...]
    held: tuple[App, ...]
    pinned: tuple[App, ...]


def problem_of(state: ClusterState) -> Problem:
    """Return the problem that a state poses."""
    nodes = {node_id: node.report for node_id, node in sorted(state.nodes.items()) if not node.lost}
    apps: dict[Treatment, list[App]] = {kind: [] for kind in Treatment}
    for app in in_order(state):
        apps[treatment(state, app)].append(app)
    return Problem(
        nodes=nodes,
        total=total_of(report.capacity for report in nodes.values()),
        contenders=tuple(apps[Treatment.CONTENDS]),
        held=tuple(apps[Treatment.HELD]),
        pinned=tuple(apps[Treatment.PINNED]),
    )


def in_order(state: ClusterState) -> list[App]:
    """Return the unfinished applications in order of submission.

    Sorted here, because a state that was read back from a snapshot has its keys in another order.
    """
    return sorted(state.apps.values(), key=lambda app: (app.submitted_revision, app.app_id))


def treatment(state: ClusterState, app: App) -> Treatment:
    """Return what a decision may do to an unfinished application."""
    if app.cancel_requested:
        return Treatment.LEAVING
    if lost_nodes_of(state, app):
        return Treatment.PINNED
    if app.backoff or app.failure or app.quarantine or _ended(app):
        return Treatment.HELD
    return Treatment.CONTENDS


def lost_nodes_of(state: ClusterState, app: App) -> tuple[str, ...]:
    """Return the nodes that are out of reach and may still run containers of this application."""
    if app.generation is None:
        return ()
    node_ids = dict.fromkeys(member.node_id for member in app.generation.live)
    gone = [
        node_id for node_id in node_ids if (node := state.nodes.get(node_id)) is None or node.lost
    ]
    return tuple(sorted(gone))


def _ended(app: App) -> bool:
    """Return whether all containers ended by themselves, which lifecycle has yet to judge."""
    generation = app.generation
    if generation is None or generation.live:
        return False
    return generation.stop is None or generation.stop.cause != "resize"
