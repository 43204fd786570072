"""What a layout decision changes."""

import attrs

from events.draft import Draft, Senseless
from events.layouts import LayoutDecided, join


def decided(draft: Draft, event: LayoutDecided) -> None:
    """Grant the new partitions once the last part is there; containers follow later."""
    parts = (*draft.open_parts.get(event.decision_id, ()), event)
    if event.part != len(parts):
        raise Senseless("part of a decision out of turn")
    # Only one leader decides, so an unfinished older decision will never be finished.
    draft.open_parts.clear()
    if event.part < event.parts:
        draft.open_parts[event.decision_id] = parts
        return
    for app_id, change in join(parts).items():
        app = draft.apps.get(app_id)
        if app is None or change.generation <= app.last_generation:
            continue  # The application ended, or went on, while the decision was being made.
        draft.put(
            attrs.evolve(
                app,
                partition=change.partition,
                target_generation=change.generation,
                decided_reason=change.reason,
                input_revision=event.input_revision,
            )
        )
