"""The fold: the only way from events to a state.

`apply` is total. An event that cannot be read stops the reader long before (`Corrupt`); a
well-formed event that makes no sense in the present state is counted under a reason in
`ClusterState.ignored` and changes nothing else, on every master alike. That happens in good
health: a report that was sent twice, or a decision that another event overtook.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar, assert_never

import attrs

from events.apps import (
    AppCancelled,
    AppCancelRequested,
    AppChanged,
    AppCompleted,
    AppFailed,
    AppRequeued,
    AppRetrying,
    AppSubmitted,
)
from events.catalog import Event
from events.control import LeaderElected, SegmentSealed
from events.errors import Corrupt
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    GenerationStopped,
    StopRequested,
)
from events.layouts import LayoutDecided, join
from events.nodes import NodeForgotten, NodeLost, NodeReported, NodeReturned
from events.recorded import Recorded
from events.state import App, Backoff, ClusterState, Exit, Generation, Node, Outcome, Stop

FINISHED_KEPT: Final = 500

K = TypeVar("K")
V = TypeVar("V")


class _Senseless(Exception):  # noqa: N818 - not an error: the reason of a counted no-op
    """The event makes no sense in this state."""


def apply(state: ClusterState, recorded: Recorded) -> ClusterState:
    """Return the state after one more event.

    Raises:
        Corrupt: The event stands before the state's revision, so the order of the log is broken.
    """
    if recorded.revision < state.revision:
        msg = f"event {recorded.event_id} at revision {recorded.revision} after {state.revision}"
        raise Corrupt(msg)
    try:
        changes = _changes(state, recorded)
    except _Senseless as reason:
        word = str(reason)
        changes = {"ignored": _with(state.ignored, word, state.ignored.get(word, 0) + 1)}
    return attrs.evolve(state, revision=recorded.revision, **changes)


def fold(history: Iterable[Recorded], start: ClusterState | None = None) -> ClusterState:
    """Return the state after `history`, beginning from `start` or from nothing."""
    state = start or ClusterState()
    for recorded in history:
        state = apply(state, recorded)
    return state


def _changes(state: ClusterState, recorded: Recorded) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912 - one case an event
    match event := recorded.event:
        case AppSubmitted():
            return _submitted(state, event, recorded)
        case AppChanged():
            return _changed(state, event, recorded)
        case AppCancelRequested():
            return _cancel_requested(state, event, recorded)
        case AppRetrying():
            return _retrying(state, event, recorded)
        case AppRequeued():
            return _requeued(state, event, recorded)
        case AppCompleted():
            return _completed(state, event, recorded)
        case AppFailed():
            return _failed(state, event, recorded)
        case AppCancelled():
            return _cancelled(state, event, recorded)
        case NodeReported():
            return _node_reported(state, event, recorded)
        case NodeLost():
            return _node_lost(state, event, recorded)
        case NodeReturned():
            return _node_returned(state, event, recorded)
        case NodeForgotten():
            return _node_forgotten(state, event, recorded)
        case LayoutDecided():
            return _layout_decided(state, event, recorded)
        case GenerationStarted():
            return _generation_started(state, event, recorded)
        case CheckpointRequested():
            return _checkpoint_requested(state, event, recorded)
        case StopRequested():
            return _stop_requested(state, event, recorded)
        case ContainerStarted():
            return _container_started(state, event, recorded)
        case ContainerExited():
            return _container_exited(state, event, recorded)
        case GenerationStopped():
            return _generation_stopped(state, event, recorded)
        case LeaderElected():
            return _leader_elected(state, event, recorded)
        case SegmentSealed():
            return _segment_sealed(state, event, recorded)
        case _ as never:
            assert_never(never)


def _with(mapping: Mapping[K, V], key: K, value: V) -> dict[K, V]:
    return {**mapping, key: value}


def _without(mapping: Mapping[K, V], key: K) -> dict[K, V]:
    return {other: value for other, value in mapping.items() if other != key}


def _app(state: ClusterState, app_id: str) -> App:
    app = state.apps.get(app_id)
    if app is None:
        raise _Senseless("finished app" if app_id in state.finished else "unknown app")
    return app


def _running(app: App, number: int) -> Generation:
    if app.generation is None or app.generation.number != number:
        raise _Senseless("generation is not the running one")
    return app.generation


def _put(state: ClusterState, app: App) -> dict[str, Any]:
    return {"apps": _with(state.apps, app.app_id, app)}


# Applications


def _submitted(state: ClusterState, event: AppSubmitted, recorded: Recorded) -> dict[str, Any]:
    if state.app(event.app_id) is not None:
        raise _Senseless("app id is taken")
    return _put(
        state,
        App(
            app_id=event.app_id,
            spec=event.spec,
            submitted_revision=recorded.revision,
            submitted_at_ms=recorded.stamp.at_ms,
            user=recorded.stamp.actor,
        ),
    )


def _changed(state: ClusterState, event: AppChanged, _: Recorded) -> dict[str, Any]:
    app = _app(state, event.app_id)
    spec = attrs.evolve(
        app.spec,
        weight=app.spec.weight if event.weight is None else event.weight,
        scale=event.scale or app.spec.scale,
    )
    return _put(state, attrs.evolve(app, spec=spec))


def _cancel_requested(
    state: ClusterState, event: AppCancelRequested, _: Recorded
) -> dict[str, Any]:
    return _put(state, attrs.evolve(_app(state, event.app_id), cancel_requested=True))


def _retrying(state: ClusterState, event: AppRetrying, _: Recorded) -> dict[str, Any]:
    app = _app(state, event.app_id)
    if app.generation is not None or not app.failure:
        raise _Senseless("nothing to retry")
    return _put(
        state,
        attrs.evolve(
            app,
            failure="",
            failures=event.attempt,
            failed_step=app.checkpoint_step,
            backoff=Backoff(retry_at_ms=event.retry_at_ms, reason=event.reason),
            target_generation=app.target_generation + 1 if app.partition else app.target_generation,
        ),
    )


def _requeued(state: ClusterState, event: AppRequeued, _: Recorded) -> dict[str, Any]:
    return _put(state, attrs.evolve(_app(state, event.app_id), backoff=None))


def _ended(
    state: ClusterState, app_id: str, recorded: Recorded, kind: str, reason: str = ""
) -> dict[str, Any]:
    app = _app(state, app_id)
    if app.generation is not None and app.generation.live:
        raise _Senseless("containers are still there")
    ended = attrs.evolve(
        app,
        generation=None,
        partition={},
        backoff=None,
        failure="",
        outcome=Outcome(
            kind=kind, reason=reason, revision=recorded.revision, at_ms=recorded.stamp.at_ms
        ),
    )
    finished = _with(state.finished, app_id, ended)
    if len(finished) > FINISHED_KEPT:
        del finished[next(iter(finished))]
    return {"apps": _without(state.apps, app_id), "finished": finished}


def _completed(state: ClusterState, event: AppCompleted, recorded: Recorded) -> dict[str, Any]:
    return _ended(state, event.app_id, recorded, "completed")


def _failed(state: ClusterState, event: AppFailed, recorded: Recorded) -> dict[str, Any]:
    return _ended(state, event.app_id, recorded, "failed", event.reason)


def _cancelled(state: ClusterState, event: AppCancelled, recorded: Recorded) -> dict[str, Any]:
    return _ended(state, event.app_id, recorded, "cancelled")


# Nodes


def _node_reported(state: ClusterState, event: NodeReported, recorded: Recorded) -> dict[str, Any]:
    node = Node(report=event, reported_revision=recorded.revision)
    return {"nodes": _with(state.nodes, event.node_id, node)}


def _node_lost(state: ClusterState, event: NodeLost, _: Recorded) -> dict[str, Any]:
    return _mark_node(state, event.node_id, lost=True)


def _node_returned(state: ClusterState, event: NodeReturned, _: Recorded) -> dict[str, Any]:
    return _mark_node(state, event.node_id, lost=False)


def _mark_node(state: ClusterState, node_id: str, *, lost: bool) -> dict[str, Any]:
    node = state.nodes.get(node_id)
    if node is None:
        raise _Senseless("unknown node")
    return {"nodes": _with(state.nodes, node_id, attrs.evolve(node, lost=lost))}


def _node_forgotten(state: ClusterState, event: NodeForgotten, _: Recorded) -> dict[str, Any]:
    node = state.nodes.get(event.node_id)
    if node is None:
        raise _Senseless("unknown node")
    if not node.lost:
        raise _Senseless("node is not lost")
    apps = dict(state.apps)
    gone = Exit(exit_code=None, reason="lost", message=f"node {event.node_id} was forgotten")
    for app in state.apps.values():
        if app.generation is None:
            continue
        exits = {m.rank: gone for m in app.generation.live if m.node_id == event.node_id}
        if exits:
            generation = attrs.evolve(app.generation, exits={**app.generation.exits, **exits})
            apps[app.app_id] = attrs.evolve(app, generation=generation)
    return {"apps": apps, "nodes": _without(state.nodes, event.node_id)}


# Layout and generations


def _layout_decided(state: ClusterState, event: LayoutDecided, _: Recorded) -> dict[str, Any]:
    parts = (*state.open_parts.get(event.decision_id, ()), event)
    if len(parts) < event.parts:
        # Only one leader decides, so an unfinished older decision will never be finished.
        return {"open_parts": {event.decision_id: parts}}
    apps = dict(state.apps)
    for app_id, change in join(parts).items():
        app = apps.get(app_id)
        if app is None or change.generation <= app.last_generation:
            continue  # The application ended, or went on, while the decision was being made.
        apps[app_id] = attrs.evolve(
            app,
            partition=change.partition,
            target_generation=change.generation,
            decided_reason=change.reason,
        )
    return {"apps": apps, "open_parts": {}}


def _generation_started(
    state: ClusterState, event: GenerationStarted, recorded: Recorded
) -> dict[str, Any]:
    app = _app(state, event.app_id)
    if app.generation is not None:
        raise _Senseless("an older generation is still there")
    if event.generation <= app.last_generation:
        raise _Senseless("generation number is used up")
    generation = Generation(
        number=event.generation, members=event.members, started_revision=recorded.revision
    )
    return _put(state, attrs.evolve(app, generation=generation, last_generation=event.generation))


def _stop(
    state: ClusterState, event: CheckpointRequested | StopRequested, recorded: Recorded, cause: str
) -> dict[str, Any]:
    app = _app(state, event.app_id)
    generation = _running(app, event.generation)
    if generation.stop is not None and generation.stop.cause != "resize":
        raise _Senseless("the generation is already stopping")
    stop = Stop(cause=cause, reason=event.reason, revision=recorded.revision)
    return _put(state, attrs.evolve(app, generation=attrs.evolve(generation, stop=stop)))


def _checkpoint_requested(
    state: ClusterState, event: CheckpointRequested, recorded: Recorded
) -> dict[str, Any]:
    return _stop(state, event, recorded, "resize")


def _stop_requested(
    state: ClusterState, event: StopRequested, recorded: Recorded
) -> dict[str, Any]:
    return _stop(state, event, recorded, event.cause)


def _member_of(app: App, event: ContainerStarted | ContainerExited) -> Generation:
    generation = _running(app, event.generation)
    if event.rank >= len(generation.members):
        raise _Senseless("rank is not in the generation")
    if generation.members[event.rank].node_id != event.node_id:
        raise _Senseless("rank belongs to another node")
    if event.rank in generation.exits:
        raise _Senseless("container is already gone")
    return generation


def _container_started(state: ClusterState, event: ContainerStarted, _: Recorded) -> dict[str, Any]:
    app = _app(state, event.app_id)
    generation = _member_of(app, event)
    if event.rank in generation.started:
        raise _Senseless("container already started")
    started = tuple(sorted({*generation.started, event.rank}))
    return _put(state, attrs.evolve(app, generation=attrs.evolve(generation, started=started)))


def _container_exited(state: ClusterState, event: ContainerExited, _: Recorded) -> dict[str, Any]:
    app = _app(state, event.app_id)
    generation = _member_of(app, event)
    gone = Exit(exit_code=event.exit_code, reason=event.reason, message=event.message)
    generation = attrs.evolve(generation, exits=_with(generation.exits, event.rank, gone))
    step = app.checkpoint_step
    if event.checkpoint_step is not None:
        step = event.checkpoint_step if step is None else max(step, event.checkpoint_step)
    return _put(state, attrs.evolve(app, generation=generation, checkpoint_step=step))


def _generation_stopped(
    state: ClusterState, event: GenerationStopped, _: Recorded
) -> dict[str, Any]:
    app = _app(state, event.app_id)
    generation = _running(app, event.generation)
    if generation.live:
        raise _Senseless("containers are still there")
    if generation.stop is None:
        raise _Senseless("nobody asked the generation to stop")
    changes: dict[str, Any] = {"generation": None}
    if generation.stop.cause == "resize":
        changes["resizes"] = app.resizes + 1
    if generation.stop.cause == "failure":
        changes["failure"] = generation.stop.reason or "a container failed"
        changes["failure_counts"] = any(
            exit_.failed and exit_.reason != "lost" for exit_ in generation.exits.values()
        )
    return _put(state, attrs.evolve(app, **changes))


# The control plane itself


def _leader_elected(_: ClusterState, event: LeaderElected, __: Recorded) -> dict[str, Any]:
    return {"leader": event.master, "epoch": event.epoch}


def _segment_sealed(state: ClusterState, event: SegmentSealed, _: Recorded) -> dict[str, Any]:
    if event.segment <= state.sealed_segment:
        raise _Senseless("segment is already sealed")
    return {"seal": event.sha256, "sealed_segment": event.segment}
