"""The fold: the only way from events to a state.

`apply` is total. An event that cannot be read stops the reader long before (`Corrupt`); a
well-formed event that makes no sense in the present state is counted under a reason in
`ClusterState.ignored` and changes nothing else, on every master alike. That happens in good
health: a report that was sent twice, or a decision that another event overtook.
"""

from collections.abc import Iterable
from typing import assert_never

from events.apps import (
    AppCancelled,
    AppCancelRequested,
    AppChanged,
    AppCompleted,
    AppFailed,
    AppQuarantined,
    AppRequeued,
    AppRetrying,
    AppSubmitted,
    AppUnquarantined,
)
from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.control import LeaderElected, SegmentSealed, StoreEpochBegan
from events.draft import Draft, Senseless
from events.errors import Corrupt
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    GenerationStopped,
    StopRequested,
)
from events.layouts import LayoutDecided
from events.nodes import (
    NodeExpelled,
    NodeFenced,
    NodeForgotten,
    NodeLost,
    NodeReported,
    NodeReturned,
    NodeSettled,
)
from events.policy import LayoutConfigured, LayoutDue
from events.recorded import Recorded
from events.rules import apps, checkpoints, control, generations, layouts, nodes
from events.rules.apps import FINISHED_KEPT
from events.state import ClusterState

__all__ = ["FINISHED_KEPT", "apply", "fold"]


def apply(state: ClusterState, recorded: Recorded) -> ClusterState:
    """Return the state after one more event.

    Raises:
        Corrupt: The event stands before the state's revision, so the order of the log is broken.
    """
    return fold((recorded,), state)


def fold(history: Iterable[Recorded], start: ClusterState | None = None) -> ClusterState:
    """Return the state after `history`, beginning from `start` or from nothing.

    Raises:
        Corrupt: An event stands before the one it follows, so the order of the log is broken.
    """
    draft = Draft.of(start or ClusterState())
    for recorded in history:
        _step(draft, recorded)
    return draft.done()


def _step(draft: Draft, recorded: Recorded) -> None:
    if recorded.revision < draft.revision:
        msg = f"event {recorded.event_id} at revision {recorded.revision} after {draft.revision}"
        raise Corrupt(msg)
    draft.now_ms = max(draft.now_ms, recorded.stamp.at_ms)
    try:
        _change(draft, recorded)
    except Senseless as reason:
        draft.ignore(str(reason))
    draft.revision = recorded.revision


def _change(draft: Draft, recorded: Recorded) -> None:  # noqa: C901, PLR0912, PLR0915 - one case an event
    match event := recorded.event:
        case AppSubmitted():
            apps.submitted(draft, event, recorded)
        case AppChanged():
            apps.changed(draft, event)
        case AppCancelRequested():
            apps.cancel_requested(draft, event)
        case AppRetrying():
            apps.retrying(draft, event, recorded)
        case AppRequeued():
            apps.requeued(draft, event)
        case AppCompleted():
            apps.completed(draft, event, recorded)
        case AppFailed():
            apps.failed(draft, event, recorded)
        case AppCancelled():
            apps.cancelled(draft, event, recorded)
        case AppQuarantined():
            apps.quarantined(draft, event)
        case AppUnquarantined():
            apps.unquarantined(draft, event)
        case NodeReported():
            nodes.reported(draft, event, recorded)
        case NodeLost():
            nodes.lost(draft, event)
        case NodeReturned():
            nodes.returned(draft, event)
        case NodeExpelled():
            nodes.expelled(draft, event)
        case NodeFenced():
            nodes.fenced(draft, event)
        case NodeForgotten():
            nodes.forgotten(draft, event)
        case NodeSettled():
            nodes.settled(draft, event)
        case LayoutDecided():
            layouts.decided(draft, event, recorded)
        case LayoutConfigured():
            layouts.configured(draft, event)
        case LayoutDue():
            layouts.due(draft, event)
        case GenerationStarted():
            generations.started(draft, event, recorded)
        case CheckpointRequested():
            generations.checkpoint_requested(draft, event, recorded)
        case CheckpointSaved():
            checkpoints.saved(draft, event)
        case CheckpointRejected():
            checkpoints.rejected(draft, event)
        case StopRequested():
            generations.stop_requested(draft, event, recorded)
        case ContainerStarted():
            generations.container_started(draft, event)
        case ContainerExited():
            generations.container_exited(draft, event)
        case GenerationStopped():
            generations.stopped(draft, event)
        case LeaderElected():
            control.leader_elected(draft, event)
        case SegmentSealed():
            control.segment_sealed(draft, event)
        case StoreEpochBegan():
            control.store_epoch_began(draft, event)
        case _ as never:
            assert_never(never)
