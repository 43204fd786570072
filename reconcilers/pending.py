"""Why is my application not running? One reason for each application, with numbers.

What `dorm why` prints. Every application has exactly one reason at any time, also when all is
well. Reads the state only, like the decisions that it explains.
"""

from typing import Final

from events.errors import NotFound
from events.layouts import size
from events.state import App, ClusterState, Generation, Outcome
from events.units import Resources
from reconcilers.amounts import containers, dominant
from reconcilers.layout.problem import in_order, lost_nodes_of
from reconcilers.reasons import Reason, ReasonCode, some
from reconcilers.shortage import Survey

__all__ = ["Reason", "ReasonCode", "explain", "explain_all"]

_NOTHING: Final = "has nothing yet"


def explain(state: ClusterState, app_id: str) -> Reason:
    """Return why an application is where it is.

    Raises:
        NotFound: Dorm does not know the application.
    """
    app = state.app(app_id)
    if app is None:
        raise NotFound("is no application", field="app", value=app_id, hint="see `dorm ps`")
    return _explain(state, app, None)


def explain_all(state: ClusterState) -> dict[str, Reason]:
    """Return the reason of every unfinished application; far cheaper than one by one."""
    survey = Survey.of(state)
    return {app.app_id: _explain(state, app, survey) for app in in_order(state)}


def _explain(state: ClusterState, app: App, survey: Survey | None) -> Reason:
    if app.outcome is not None:
        return _ended(app, app.outcome)
    lost = lost_nodes_of(state, app)
    if app.cancel_requested:
        return _cancelling(app, lost)
    if lost:
        return _out_of_reach(app, lost)
    if app.generation is not None:
        return _of_generation(app, app.generation)
    return _of_none(state, app, survey)


def _of_none(state: ClusterState, app: App, survey: Survey | None) -> Reason:
    if app.backoff or app.failure:
        return _backing_off(app)
    if app.quarantine:
        granted = size(app.partition)
        return _quarantined(app, f"has {containers(granted)} granted" if granted else _NOTHING)
    if app.partition:
        return _waiting_to_start(state, app)
    return (survey or Survey.of(state)).reason(app)


def _ended(app: App, outcome: Outcome) -> Reason:
    if outcome.kind == "failed":
        return Reason(
            code=ReasonCode.FAILED,
            message=f"failed: {outcome.reason or 'no reason was recorded'}",
            hint=f"read its last words with `dorm logs {app.app_id}`, then submit it again",
        )
    return Reason(code=ReasonCode.FINISHED, message=outcome.kind)


def _cancelling(app: App, lost: tuple[str, ...]) -> Reason:
    left = len(app.generation.live) if app.generation else 0
    where = f", some on lost nodes: {some(lost)}" if lost else ""
    return Reason(
        code=ReasonCode.CANCELLING,
        message=f"is being cancelled; {containers(left)} left{where}",
        hint=_release_hint(lost) if lost else "",
        numbers={"left": left},
    )


def _out_of_reach(app: App, lost: tuple[str, ...]) -> Reason:
    live = app.generation.live if app.generation else ()
    unseen = sum(member.node_id in lost for member in live)
    return Reason(
        code=ReasonCode.WAITING_FOR_RELEASE,
        message=f"{unseen} of its {containers(len(live))} may still run on lost nodes: "
        f"{some(lost)}; nothing starts elsewhere while they may",
        hint=_release_hint(lost),
        numbers={"unseen": unseen, "containers": len(live)},
    )


def _release_hint(lost: tuple[str, ...]) -> str:
    return f"wait for its agent, or `dorm forget {lost[0]}` once that machine is off for good"


def _of_generation(app: App, generation: Generation) -> Reason:
    cause = generation.stop.cause if generation.stop else ""
    if cause == "cancel":
        return _cancelling(app, ())
    if cause == "resize" or (not cause and app.target_generation > generation.number):
        return _resizing(app, generation)
    if cause == "failure" or generation.first_failure is not None:
        return _failing(app, generation)
    total, started = len(generation.members), len(generation.started)
    numbers = {"generation": generation.number, "containers": total, "started": started}
    if not generation.live:
        code, message = ReasonCode.RUNNING, f"all {containers(total)} ended; about to be closed"
    elif started < total:
        code, message = ReasonCode.STARTING, f"{started} of {containers(total)} started"
    elif app.quarantine:
        return _quarantined(app, f"keeps its {containers(total)}")
    else:
        why = f": {app.decided_reason}" if app.decided_reason else ""
        code, message = ReasonCode.RUNNING, f"runs {containers(total)}{why}"
    return Reason(code=code, message=message, numbers=numbers)


def _quarantined(app: App, what: str) -> Reason:
    return Reason(
        code=ReasonCode.QUARANTINED,
        message=f"{what}: no layout could be decided with it ({app.quarantine}), so it is left out",
        hint=f"change what is odd about it with `dorm set {app.app_id}`, "
        f"or try again as it is with `dorm retry {app.app_id}`",
        numbers={"granted": size(app.partition)},
    )


def _resizing(app: App, generation: Generation) -> Reason:
    total, left = len(generation.members), len(generation.live)
    if generation.stop:
        message = f"saves its work to go from {total} to {_next_size(app)}, {left} still there"
    else:
        message = f"is about to go from {total} to {_next_size(app)}"
    return Reason(
        code=ReasonCode.RESIZING,
        message=f"{message}: {generation.stop.reason if generation.stop else app.decided_reason}",
        numbers={"containers": total, "left": left, "next": size(app.partition)},
    )


def _failing(app: App, generation: Generation) -> Reason:
    total, left = len(generation.members), len(generation.live)
    return Reason(
        code=ReasonCode.BACKOFF,
        message=f"a container failed; {left} of {total} are stopped before it may be tried again",
        hint=f"see why with `dorm logs {app.app_id}`",
        numbers={"containers": total, "left": left, "failures": app.failures},
    )


def _next_size(app: App) -> str:
    return containers(size(app.partition))


def _backing_off(app: App) -> Reason:
    what = app.backoff.reason if app.backoff else app.failure
    numbers = {"failures": app.failures, "retry_max": app.spec.retry.max}
    if app.backoff is None:
        message = f"failed ({what}); whether it is tried again is about to be decided"
    else:
        message = f"failed ({what}), {app.failures} of {app.spec.retry.max} retries used; waits"
        numbers["retry_at_ms"] = app.backoff.retry_at_ms
    return Reason(
        code=ReasonCode.BACKOFF,
        message=message,
        hint=f"see why with `dorm logs {app.app_id}`",
        numbers=numbers,
    )


def _after_a_restore(state: ClusterState, count: int) -> Reason:
    """Somewhere a container may run that the restored history does not know."""
    nodes = tuple(state.unsettled)
    return Reason(
        code=ReasonCode.WAITING_FOR_RELEASE,
        message=f"the store was restored from a backup (epoch {state.store_epoch}); nothing starts "
        f"before every node has cleared away what it does not know, which is missing from "
        f"{some(nodes)}",
        hint=_release_hint(nodes),
        numbers={"containers": count, "unsettled": len(nodes)},
    )


def _waiting_to_start(state: ClusterState, app: App) -> Reason:
    """Its room is granted: it starts as soon as whoever is there has left."""
    count = size(app.partition)
    gone = [
        node_id
        for node_id in sorted(app.partition)
        if (node := state.nodes.get(node_id)) is None or node.lost
    ]
    if gone:
        return Reason(
            code=ReasonCode.AWAITING_DECISION,
            message=f"was to start on {some(gone)}, which is lost; other places are being sought",
            numbers={"containers": count},
        )
    if state.unsettled:
        return _after_a_restore(state, count)
    blockers = _blockers(state, app)
    if not blockers:
        share = dominant(app.demand * count, _capacity(state))
        return Reason(
            code=ReasonCode.STARTING,
            message=f"{containers(count)} ({share}) are about to start",
            numbers={"containers": count},
        )
    names = [other.app_id for other in blockers]
    for other in blockers:
        if lost := lost_nodes_of(state, other):
            return Reason(
                code=ReasonCode.WAITING_FOR_RELEASE,
                message=f"its room is still used by {other.app_id}, which cannot be stopped "
                f"while {some(lost)} is lost",
                hint=_release_hint(lost),
                numbers={"containers": count, "blockers": len(blockers)},
            )
    return Reason(
        code=ReasonCode.WAITING_FOR_CHECKPOINT,
        message=f"its room is still used by {some(names)}, to be given up after a checkpoint",
        numbers={"containers": count, "blockers": len(blockers)},
    )


def _capacity(state: ClusterState) -> Resources:
    healthy = (node.report.capacity for node in state.nodes.values() if not node.lost)
    return sum(healthy, start=Resources())


def _blockers(state: ClusterState, app: App) -> list[App]:
    """Return the apps whose containers are in the way; first choice those that are on their way."""
    in_the_way: dict[str, App] = {}
    for node_id, slots in sorted(app.partition.items()):
        guests = [
            (other, member)
            for other in in_order(state)
            if other.generation is not None and other.app_id != app.app_id
            for member in other.generation.live
            if member.node_id == node_id
        ]
        used = sum((other.demand for other, _ in guests), start=Resources())
        fits = (app.demand * slots.count + used).fits_in(state.nodes[node_id].report.capacity)
        for other, member in guests:
            if not fits or not set(slots.devices).isdisjoint(member.devices):
                in_the_way[other.app_id] = other
    leaving = [other for other in in_the_way.values() if _is_leaving(other)]
    return leaving or list(in_the_way.values())


def _is_leaving(app: App) -> bool:
    generation = app.generation
    return app.cancel_requested or (
        generation is not None
        and (generation.stop is not None or app.target_generation > generation.number)
    )
