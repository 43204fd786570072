"""Events as plain sentences, for timelines and the story of one application or node."""

from collections.abc import Iterable, Iterator
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
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    GenerationStopped,
    StopRequested,
)
from events.layouts import LayoutDecided, PartitionChange, size
from events.nodes import (
    NodeExpelled,
    NodeFenced,
    NodeForgotten,
    NodeLost,
    NodeReported,
    NodeReturned,
    NodeSettled,
)
from events.policy import LayoutConfigured, LayoutDue, LayoutRules
from events.recorded import Recorded
from events.text import duration, memory, one_line, plural, resources

NodeEvent = (
    NodeReported | NodeLost | NodeReturned | NodeExpelled | NodeFenced | NodeForgotten | NodeSettled
)


def sentence(recorded: Recorded) -> str:
    """Return one line of English about the event. Nothing in it can disturb a terminal."""
    return one_line(_raw_sentence(recorded))


def about(recorded: Recorded, subject: str) -> bool:
    """Return whether the event concerns the application, node or master of that id."""
    return subject in subjects(recorded)


def story(history: Iterable[Recorded], subject: str) -> Iterator[Recorded]:
    """Yield the events about one application, node or master, in the order of the log."""
    return (recorded for recorded in history if about(recorded, subject))


def subjects(recorded: Recorded) -> tuple[str, ...]:  # noqa: PLR0911 - one case a shape
    """Return the ids of every application, node or master that the event names."""
    match event := recorded.event:
        case ContainerStarted() | ContainerExited() | CheckpointSaved() | CheckpointRejected():
            return event.app_id, event.node_id
        case GenerationStarted():
            return event.app_id, *(member.node_id for member in event.members)
        case LayoutDecided():
            nodes = (node for change in event.changes.values() for node in change.partition)
            return *event.changes, *nodes
        case (
            NodeReported()
            | NodeLost()
            | NodeReturned()
            | NodeExpelled()
            | NodeFenced()
            | NodeForgotten()
            | NodeSettled()
        ):
            return (event.node_id,)
        case LeaderElected():
            return (event.master,)
        case StoreEpochBegan():
            return tuple(name.partition("/")[2] for name in event.witnesses)
        case SegmentSealed() | LayoutConfigured() | LayoutDue():
            return ()
        case _:
            return (event.app_id,)


def _raw_sentence(recorded: Recorded) -> str:
    match event := recorded.event:
        case (
            NodeReported()
            | NodeLost()
            | NodeReturned()
            | NodeExpelled()
            | NodeFenced()
            | NodeForgotten()
            | NodeSettled()
        ):
            return _of_node(event, _who(recorded))
        case LayoutDecided() | LayoutConfigured() | LayoutDue():
            return _of_layout(event, _who(recorded))
        case (
            GenerationStarted()
            | CheckpointRequested()
            | CheckpointSaved()
            | CheckpointRejected()
            | StopRequested()
            | GenerationStopped()
            | ContainerStarted()
            | ContainerExited()
        ):
            return _of_generation(event)
        case LeaderElected() | SegmentSealed() | StoreEpochBegan():
            return _of_control(event, _who(recorded))
        case _:
            return _of_app(event, _who(recorded))


def _who(recorded: Recorded) -> str:
    """Return `ann` for `user/ann`, and every other actor as it stands."""
    return recorded.stamp.actor.removeprefix("user/")


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _of_app(  # noqa: C901, PLR0911 - one case an event
    event: AppSubmitted
    | AppChanged
    | AppCancelRequested
    | AppRetrying
    | AppRequeued
    | AppCompleted
    | AppFailed
    | AppCancelled
    | AppQuarantined
    | AppUnquarantined,
    who: str,
) -> str:
    match event:
        case AppSubmitted(spec=spec):
            bounds = f"{spec.scale.min} to {plural(spec.scale.max, 'container')}"
            each = resources(spec.resources)
            return f"{who} submitted {spec.name} as {event.app_id}: {bounds} of {each}"
        case AppChanged():
            return f"{who} set {_new_values(event)} of {event.app_id}"
        case AppCancelRequested():
            return f"{who} asked to cancel {event.app_id}"
        case AppRetrying(attempt=0):
            return f"{event.app_id} starts again{_because(event.reason)}"
        case AppRetrying():
            return f"{event.app_id} waits for retry {event.attempt}{_because(event.reason)}"
        case AppRequeued():
            return f"{event.app_id} may start again"
        case AppCompleted():
            return f"{event.app_id} completed"
        case AppFailed():
            return f"{event.app_id} failed{_because(event.reason)}"
        case AppCancelled():
            return f"{event.app_id} is cancelled"
        case AppQuarantined():
            return f"{event.app_id} is left out of layouts{_because(event.reason)}"
        case AppUnquarantined():
            return f"{who} had layouts decided with {event.app_id} again"
        case _ as never:
            assert_never(never)


def _new_values(event: AppChanged) -> str:
    scale = event.scale
    parts = (
        "" if event.weight is None else f"weight {event.weight:g}",
        "" if scale is None else f"scale {scale.min} to {scale.max}",
        "" if event.priority is None else f"priority {event.priority}",
    )
    given = [part for part in parts if part]
    return " and ".join(part for part in (", ".join(given[:-1]), *given[-1:]) if part) or "nothing"


def _of_node(event: NodeEvent, who: str) -> str:  # noqa: PLR0911 - one case an event
    match event:
        case NodeReported():
            return f"node {event.node_id} reported {resources(event.capacity)}"
        case NodeLost():
            return f"node {event.node_id} is lost: its agent is silent"
        case NodeReturned():
            return f"node {event.node_id} is back"
        case NodeExpelled():
            return f"node {event.node_id} may run nothing any more: its tenure was ended"
        case NodeFenced():
            return f"node {event.node_id} is fenced off: nothing runs there"
        case NodeForgotten():
            return f"{who} vouched that node {event.node_id} is off for good"
        case NodeSettled():
            return f"node {event.node_id} has nothing left from before epoch {event.epoch}"
        case _ as never:
            assert_never(never)


def _of_layout(event: LayoutDecided | LayoutConfigured | LayoutDue, who: str) -> str:
    match event:
        case LayoutDecided():
            return _layout(event)
        case LayoutConfigured(rules=rules):
            return f"{who} set the rules of layouts: {_rules(rules)}"
        case LayoutDue():
            return f"the layout is due: {duration(event.waited_ms)} since it was looked at"
        case _ as never:
            assert_never(never)


def _rules(rules: LayoutRules) -> str:
    parts = (
        f"policy {rules.policy}",
        f"loss factor {rules.loss_factor:g}",
        f"touch factor {rules.touch_factor:g}",
        f"shortfall price {rules.shortfall_price:g}",
        f"horizon {duration(rules.horizon_ms)}",
        f"minimum run {duration(rules.min_run_ms)}",
        f"gang wait {duration(rules.gang_wait_ms)}",
        f"static size {rules.static_containers}",
    )
    return ", ".join(parts)


def _layout(event: LayoutDecided) -> str:
    part = f", part {event.part} of {event.parts}" if event.parts > 1 else ""
    head = f"layout decided by {event.policy} from revision {event.input_revision}{part}"
    changes = "; ".join(_change(app_id, change) for app_id, change in event.changes.items())
    fallback = event.quality.fallback if event.quality else ""
    aside = f" (not the configured policy: {fallback})" if fallback else ""
    return f"{head}{aside}: {changes or 'no change'}"


def _change(app_id: str, change: PartitionChange) -> str:
    reason = f" ({change.reason})" if change.reason else ""
    if not change.partition:
        return f"{app_id} gets nothing{reason}"
    count = plural(size(change.partition), "container")
    return f"{app_id} gets {count} on {' '.join(change.partition)}{reason}"


def _of_generation(  # noqa: PLR0911 - one case an event
    event: GenerationStarted
    | CheckpointRequested
    | CheckpointSaved
    | CheckpointRejected
    | StopRequested
    | GenerationStopped
    | ContainerStarted
    | ContainerExited,
) -> str:
    name = f"{event.app_id} generation {event.generation}"
    match event:
        case GenerationStarted():
            nodes = dict.fromkeys(member.node_id for member in event.members)
            count = plural(len(event.members), "container")
            return f"{name} starts: {count} on {' '.join(nodes)}"
        case CheckpointRequested():
            return f"{name} is asked to save its work and end{_because(event.reason)}"
        case CheckpointSaved():
            size = f"{plural(event.file_count, 'file')}, {memory(event.size_bytes)}"
            return f"{name}: its checkpoint{_at(event.step)} is kept ({size})"
        case CheckpointRejected():
            old = f"the checkpoint{_at(event.step)} of generation {event.saved_generation}"
            return f"{name} cannot start from {old}{_because(event.reason)}"
        case StopRequested():
            return f"{name} is stopped, {event.cause}{_because(event.reason)}"
        case GenerationStopped():
            return f"{name} is gone"
        case ContainerStarted():
            return f"{name}: container {event.rank} runs on {event.node_id}"
        case ContainerExited():
            return f"{name}: container {event.rank} on {event.node_id} {_exit(event)}"
        case _ as never:
            assert_never(never)


def _of_control(event: LeaderElected | SegmentSealed | StoreEpochBegan, who: str) -> str:
    match event:
        case LeaderElected():
            return f"master {event.master} leads from now on (epoch {event.epoch})"
        case SegmentSealed():
            return f"segment {event.segment} sealed with {plural(event.count, 'event')}"
        case StoreEpochBegan():
            head = f"{who} vouched for a restored store: its epoch {event.epoch} begins"
            if event.lost_revision <= event.found_revision:
                return head
            return f"{head}, what stood behind revision {event.found_revision} is lost"
        case _ as never:
            assert_never(never)


def _at(step: int) -> str:
    return f" at step {step}" if step else ""


def _exit(event: ContainerExited) -> str:
    what = {
        "exited": f"exited with code {event.exit_code}",
        "oom": "ran out of memory",
        "killed": "was killed after its grace time",
        "lost": "is gone without a trace",
        "start_error": "could not be started",
    }[event.reason]
    step = "" if event.checkpoint_step is None else f", checkpoint at step {event.checkpoint_step}"
    return f"{what}{step}{_because(event.message)}"
