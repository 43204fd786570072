"""Why an application that holds nothing is given nothing: it never fits, or others are there."""

from fractions import Fraction
from typing import Final, Self

import attrs

from events.layouts import size
from events.nodes import NodeReported
from events.state import App, ClusterState
from events.units import Resources
from reconcilers.amounts import ONE_CPU, containers, cpus, dominant, memory
from reconcilers.layout.policies.drf.board import Board
from reconcilers.layout.policies.drf.gangs import add_up_to
from reconcilers.layout.pose import pose
from reconcilers.layout.problem import in_order
from reconcilers.reasons import Reason, ReasonCode, some

FIELDS: Final = ("cpu_milli", "memory_bytes", "gpu_count")


@attrs.define
class Survey:
    """The cluster as the next decision finds it. Asking leaves no trace on the board.

    Attributes:
        holders: The applications that hold the most, in words.
        at_minimum: Ids of those that run at their smallest size and could be allowed a smaller one.
    """

    state: ClusterState
    board: Board
    holders: str
    at_minimum: list[str]

    @classmethod
    def of(cls, state: ClusterState) -> Self:
        """Return the survey of a state."""
        posed, apps = pose(state), in_order(state)
        board = Board.lay_out(posed.snapshot)
        at_minimum = [
            app.app_id
            for app in apps
            if app.partition and size(app.partition) == app.spec.scale.min > 1
        ]
        return cls(state, board, _holders(apps, posed.problem.total), at_minimum)

    def reason(self, app: App) -> Reason:
        """Return why an application that waits without a partition has none."""
        reports = [node.report for _, node in sorted(self.state.nodes.items())]
        lost = sorted(node.node_id for node in self.state.nodes.values() if node.lost)
        if len(lost) == len(reports):
            return _no_nodes(lost)
        return _never_fits(app, reports) or self._not_now(app, lost)

    def _not_now(self, app: App, lost: list[str]) -> Reason:
        wanted = app.spec.scale.min
        holding, mark = self.board.holdings[app.app_id], len(self.board.journal)
        places = add_up_to(self.board, holding, wanted)
        self.board.rollback(mark)
        numbers = {"needed": wanted, "places": places}
        if places >= wanted:
            return Reason(
                code=ReasonCode.AWAITING_DECISION,
                message=f"there is room for its {containers(wanted)}; the next decision places it",
                numbers=numbers,
            )
        return Reason(
            code=ReasonCode.NOT_ENOUGH_ROOM,
            message=f"needs {containers(wanted)} at once (scale.min) of {_words(app.demand)} each; "
            f"there is room for {places}, the rest is held by {self.holders}",
            hint="; or ".join(self._ways_out(app, places, lost)),
            numbers=numbers,
        )

    def _ways_out(self, app: App, places: int, lost: list[str]) -> list[str]:
        ways = []
        if places:
            ways.append(f"set its scale.min to {places} (`dorm set {app.app_id} --min {places}`)")
        if self.at_minimum:
            ways.append(f"lower the scale.min of {some(self.at_minimum)}, now at their smallest")
        if lost:
            ways.append(f"bring back the lost nodes {some(lost)}")
        ways.append("wait until a running application ends, or add a node")
        return ways


def _holders(apps: list[App], total: Resources) -> str:
    """Return who holds how much, the largest first; the older of equals first."""
    held = [(app, app.demand * size(app.partition)) for app in apps if app.partition]
    held.sort(key=lambda pair: pair[1].dominant_share(total), reverse=True)
    words = [f"{app.app_id} ({dominant(amount, total)})" for app, amount in held]
    return some(words) or "containers that are on their way out"


def _no_nodes(lost: list[str]) -> Reason:
    if lost:
        message = f"all {len(lost)} nodes are lost: {some(lost)}"
        hint = "start their agents again with `dorm agent`, and see `dorm nodes`"
    else:
        message, hint = "no node has reported yet", "start an agent with `dorm agent`"
    return Reason(code=ReasonCode.NO_NODES, message=message, hint=hint, numbers={"lost": len(lost)})


def _never_fits(app: App, reports: list[NodeReported]) -> Reason | None:
    """Return the reason when not even all nodes, empty and healthy, would do."""
    places = sum(app.demand.times_in(_offer(report)) for report in reports)
    wanted = app.spec.scale.min
    if not places:
        return _container_never_fits(app, reports)
    if places >= wanted:
        return None
    return Reason(
        code=ReasonCode.NEVER_FITS,
        message=f"needs {containers(wanted)} at once (scale.min) of {_words(app.demand)} each; "
        f"the whole cluster, empty, has places for {places}",
        hint=f"set its scale.min to {places} or lower, or add nodes",
        numbers={"needed": wanted, "places": places},
    )


def _container_never_fits(app: App, reports: list[NodeReported]) -> Reason:
    offers = [(_offer(report), report.node_id) for report in reports]
    for name in FIELDS:
        asked = getattr(app.demand, name)
        largest = max(getattr(offer, name) for offer, _ in offers)
        if asked > largest:
            return Reason(
                code=ReasonCode.NEVER_FITS,
                message=f"one container asks for {_one(name, asked)}; "
                f"the largest node has {_one(name, largest)}",
                hint=f"ask for at most {_one(name, largest)}, or add a larger node",
                numbers={"asked": asked, "largest": largest},
            )
    nearest, node_id = min(offers, key=lambda offer: (_overshoot(app.demand, offer[0]), offer[1]))
    feasible = Resources(
        **{name: min(getattr(app.demand, name), getattr(nearest, name)) for name in FIELDS}
    )
    return Reason(
        code=ReasonCode.NEVER_FITS,
        message=f"no single node has {_words(app.demand)} for one container",
        hint=f"ask for at most {_words(feasible)}, which fits on {node_id}, or add a larger node",
        numbers={f"feasible_{name}": getattr(feasible, name) for name in FIELDS},
    )


def _overshoot(demand: Resources, offer: Resources) -> Fraction:
    """Return how many times larger the demand is than what is offered, at its worst."""
    return max(Fraction(getattr(demand, name), max(1, getattr(offer, name))) for name in FIELDS)


def _offer(report: NodeReported) -> Resources:
    return attrs.evolve(report.capacity, gpu_count=len({device.uuid for device in report.devices}))


def _one(name: str, amount: int) -> str:
    return (
        _words(Resources(**{name: amount}))
        or {
            "cpu_milli": "0 cpus",
            "memory_bytes": "no memory",
            "gpu_count": "0 GPUs",
        }[name]
    )


def _words(amount: Resources) -> str:
    parts = []
    if amount.cpu_milli:
        parts.append(f"{cpus(amount.cpu_milli)} cpu{'s' * (amount.cpu_milli != ONE_CPU)}")
    if amount.memory_bytes:
        parts.append(memory(amount.memory_bytes))
    if amount.gpu_count:
        parts.append(f"{amount.gpu_count} GPU{'s' * (amount.gpu_count != 1)}")
    return ", ".join(parts)
