"""What a layout decision is about: the nodes that offer room, and the apps that want it."""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction

import attrs

from events.nodes import NodeReported
from events.state import App, ClusterState
from events.units import Resources, total_of


class Treatment(Enum):
    """What a decision may do to an application.

    Attributes:
        CONTENDS: Give it any size within its bounds.
        HELD: Leave it its partition, as a reservation for its next start, or take all of it.
        PINNED: Nothing: it has containers that nobody can stop. What they use is not free.
        LEAVING: Nothing: its containers are on their way out. What they use counts as free.
    """

    CONTENDS = "contending"
    HELD = "held"
    PINNED = "pinned"
    LEAVING = "leaving"


@attrs.frozen(kw_only=True)
class Contender:
    """An application that may be given a partition.

    Attributes:
        order: Position in the order of submission.
        unit: Dominant share of the healthy cluster that one container is, divided by the weight.
    """

    app: App
    order: int
    unit: Fraction

    @property
    def app_id(self) -> str:
        """Return the application's id."""
        return self.app.app_id


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
    contenders: tuple[Contender, ...]
    held: tuple[App, ...]
    pinned: tuple[App, ...]


def pose(state: ClusterState) -> Problem:
    """Return the problem that a state poses."""
    nodes = {node_id: node.report for node_id, node in sorted(state.nodes.items()) if not node.lost}
    total = total_of(report.capacity for report in nodes.values())
    contenders: list[Contender] = []
    held: list[App] = []
    pinned: list[App] = []
    for order, app in enumerate(in_order(state)):
        match treatment(state, app):
            case Treatment.CONTENDS:
                unit = app.demand.dominant_share(total) / Fraction(app.spec.weight)
                contenders.append(Contender(app=app, order=order, unit=unit))
            case Treatment.HELD:
                held.append(app)
            case Treatment.PINNED:
                pinned.append(app)
            case Treatment.LEAVING:
                pass
    return Problem(
        nodes=nodes,
        total=total,
        contenders=tuple(contenders),
        held=tuple(held),
        pinned=tuple(pinned),
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
    if app.backoff or app.failure or _ended(app):
        return Treatment.HELD
    return Treatment.CONTENDS


def lost_nodes_of(state: ClusterState, app: App) -> tuple[str, ...]:
    """Return the nodes that are out of reach and may still run containers of this application."""
    if app.generation is None:
        return ()
    node_ids = sorted({member.node_id for member in app.generation.live})
    return tuple(
        node_id for node_id in node_ids if (node := state.nodes.get(node_id)) is None or node.lost
    )


def _ended(app: App) -> bool:
    """Return whether all containers ended by themselves, which lifecycle has yet to judge."""
    generation = app.generation
    if generation is None or generation.live:
        return False
    return generation.stop is None or generation.stop.cause != "resize"
