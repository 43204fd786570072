"""Every event that exists, and its name on the wire.

Classes may be renamed freely; wire names never. A changed meaning is a new version and an
upcast, see `events.upcasts`.
"""

from typing import Final

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

Event = (
    AppSubmitted
    | AppChanged
    | AppCancelRequested
    | AppRetrying
    | AppRequeued
    | AppCompleted
    | AppFailed
    | AppCancelled
    | AppQuarantined
    | AppUnquarantined
    | NodeReported
    | NodeLost
    | NodeReturned
    | NodeExpelled
    | NodeFenced
    | NodeForgotten
    | NodeSettled
    | LayoutDecided
    | LayoutConfigured
    | LayoutDue
    | GenerationStarted
    | CheckpointRequested
    | StopRequested
    | CheckpointSaved
    | CheckpointRejected
    | ContainerStarted
    | ContainerExited
    | GenerationStopped
    | LeaderElected
    | SegmentSealed
    | StoreEpochBegan
)

CATALOG: Final[dict[str, type[Event]]] = {
    "app.submitted/4": AppSubmitted,
    "app.changed/2": AppChanged,
    "app.cancel_requested/1": AppCancelRequested,
    "app.retrying/1": AppRetrying,
    "app.requeued/1": AppRequeued,
    "app.completed/1": AppCompleted,
    "app.failed/1": AppFailed,
    "app.cancelled/1": AppCancelled,
    "app.quarantined/1": AppQuarantined,
    "app.unquarantined/1": AppUnquarantined,
    "node.reported/2": NodeReported,
    "node.lost/1": NodeLost,
    "node.returned/1": NodeReturned,
    "node.expelled/1": NodeExpelled,
    "node.fenced/1": NodeFenced,
    "node.forgotten/1": NodeForgotten,
    "node.settled/1": NodeSettled,
    "layout.decided/2": LayoutDecided,
    "layout.configured/1": LayoutConfigured,
    "layout.due/1": LayoutDue,
    "generation.started/1": GenerationStarted,
    "checkpoint.requested/1": CheckpointRequested,
    "checkpoint.saved/1": CheckpointSaved,
    "checkpoint.rejected/1": CheckpointRejected,
    "stop.requested/1": StopRequested,
    "container.started/1": ContainerStarted,
    "container.exited/2": ContainerExited,
    "generation.stopped/1": GenerationStopped,
    "leader.elected/1": LeaderElected,
    "segment.sealed/1": SegmentSealed,
    "store.epoch_began/1": StoreEpochBegan,
}

KIND_OF: Final[dict[type[Event], str]] = {event: kind for kind, event in CATALOG.items()}
