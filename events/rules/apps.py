"""What the events of an application change."""

from typing import Final

import attrs

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
from events.draft import Draft, Senseless
from events.recorded import Recorded
from events.state import App, Backoff, Outcome

FINISHED_KEPT: Final = 500  # a state stays small; older ones are in the history


def submitted(draft: Draft, event: AppSubmitted, recorded: Recorded) -> None:
    """Add the application behind all others."""
    if event.app_id in draft.apps or event.app_id in draft.finished:
        raise Senseless("app id is taken")
    draft.put(
        App(
            app_id=event.app_id,
            spec=event.spec,
            submitted_revision=recorded.revision,
            submitted_at_ms=recorded.stamp.at_ms,
            user=recorded.stamp.actor,
            waiting_since_ms=draft.now_ms,
        )
    )


def changed(draft: Draft, event: AppChanged) -> None:
    """Set what the user gave; the layout answers. A quarantine was about the old values."""
    app = draft.app(event.app_id)
    spec = attrs.evolve(
        app.spec,
        weight=app.spec.weight if event.weight is None else event.weight,
        scale=event.scale or app.spec.scale,
        priority=app.spec.priority if event.priority is None else event.priority,
    )
    if app.quarantine:
        draft.settled = ""
    draft.put(attrs.evolve(app, spec=spec, quarantine=""))


def quarantined(draft: Draft, event: AppQuarantined) -> None:
    """Leave it out of the next decision, which is a decision of its own."""
    app = draft.app(event.app_id)
    if app.quarantine:
        raise Senseless("app is quarantined already")
    draft.settled = ""
    draft.put(attrs.evolve(app, quarantine=event.reason))


def unquarantined(draft: Draft, event: AppUnquarantined) -> None:
    """Decide with it again."""
    app = draft.app(event.app_id)
    if not app.quarantine:
        raise Senseless("app is not quarantined")
    draft.settled = ""
    draft.put(attrs.evolve(app, quarantine=""))


def cancel_requested(draft: Draft, event: AppCancelRequested) -> None:
    """Remember the wish; containers are stopped before it is fulfilled."""
    draft.put(attrs.evolve(draft.app(event.app_id), cancel_requested=True))


def retrying(draft: Draft, event: AppRetrying, recorded: Recorded) -> None:
    """Answer a failure with a wait, and give the partition's next containers a new number."""
    app = draft.app(event.app_id)
    if app.generation is not None or not app.failure:
        raise Senseless("nothing to retry")
    draft.put(
        attrs.evolve(
            app,
            failure="",
            failures=event.attempt,
            failed_step=app.checkpoint_step,
            backoff=Backoff(
                wait_ms=event.wait_ms,
                reason=event.reason,
                revision=recorded.revision,
                retry_at_ms=recorded.stamp.at_ms + event.wait_ms,
            ),
            target_generation=app.target_generation + 1 if app.partition else app.target_generation,
        )
    )


def requeued(draft: Draft, event: AppRequeued) -> None:
    """End the wait."""
    app = draft.app(event.app_id)
    if app.backoff is None:
        raise Senseless("app is not waiting")
    draft.put(attrs.evolve(app, backoff=None))


def completed(draft: Draft, event: AppCompleted, recorded: Recorded) -> None:
    """End it well."""
    _end(draft, event.app_id, recorded, "completed")


def failed(draft: Draft, event: AppFailed, recorded: Recorded) -> None:
    """End it badly."""
    _end(draft, event.app_id, recorded, "failed", event.reason)


def cancelled(draft: Draft, event: AppCancelled, recorded: Recorded) -> None:
    """End it as its user wished."""
    _end(draft, event.app_id, recorded, "cancelled")


def _end(draft: Draft, app_id: str, recorded: Recorded, kind: str, reason: str = "") -> None:
    app = draft.app(app_id)
    if app.generation is not None and app.generation.live:
        raise Senseless("containers are still there")
    del draft.apps[app_id]
    draft.finished[app_id] = attrs.evolve(
        app,
        generation=None,
        partition={},
        backoff=None,
        failure="",
        quarantine="",
        outcome=Outcome(
            kind=kind, reason=reason, revision=recorded.revision, at_ms=recorded.stamp.at_ms
        ),
    )
    if len(draft.finished) > FINISHED_KEPT:
        del draft.finished[next(iter(draft.finished))]
