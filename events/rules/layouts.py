"""What a layout decision changes, and what makes one due."""

from typing import Any

from events.draft import Draft, Senseless
from events.evolving import evolve
from events.layouts import LayoutDecided, PartitionChange, join
from events.policy import LayoutConfigured, LayoutDue
from events.recorded import Recorded
from events.rules import measuring
from events.state import App, LastDecision


def decided(draft: Draft, event: LayoutDecided, recorded: Recorded) -> None:
    """Grant the new partitions once the last part is there; containers follow later."""
    parts = (*draft.open_parts.get(event.decision_id, ()), event)
    if event.part != len(parts):
        raise Senseless("part of a decision out of turn")
    # Only one leader decides, so an unfinished older decision will never be finished.
    draft.open_parts.clear()
    if event.part < event.parts:
        draft.open_parts[event.decision_id] = parts
        return
    changes, draft.settled = join(parts), event.problem_hash
    for app_id, change in changes.items():
        app = draft.apps.get(app_id)
        if app is None:
            continue  # The application ended while the decision was being made.
        if change.generation <= app.last_generation:
            draft.settled = ""  # It went on meanwhile, so this is not what was decided.
            continue
        draft.put(_granted(draft, app, change, event.input_revision))
    draft.looked_at_ms = draft.now_ms
    draft.last_decision = LastDecision(
        decision_id=event.decision_id,
        policy=event.policy,
        input_revision=event.input_revision,
        revision=recorded.revision,
        at_ms=draft.now_ms,
        changed=len(changes),
        quality=parts[0].quality,
    )


def _granted(draft: Draft, app: App, change: PartitionChange, input_revision: int) -> App:
    times: dict[str, Any] = {}
    if app.partition and change.partition != app.partition:
        times["disturbed_at_ms"] = draft.now_ms
    if app.partition and not change.partition:
        times["waiting_since_ms"] = draft.now_ms
        times["measured"] = measuring.unmoved(app.measured)
    return evolve(
        app,
        partition=change.partition,
        target_generation=change.generation,
        decided_reason=change.reason,
        input_revision=input_revision,
        **times,
    )


def configured(draft: Draft, event: LayoutConfigured) -> None:
    """Decide by these rules from now on, though nothing else changed."""
    draft.rules = event.rules
    draft.settled = ""


def due(draft: Draft, event: LayoutDue) -> None:
    """Let the time pass that the leader measured, and have the layout looked at."""
    draft.now_ms = max(draft.now_ms, draft.looked_at_ms + event.waited_ms)
    draft.looked_at_ms = draft.now_ms
    draft.settled = ""
