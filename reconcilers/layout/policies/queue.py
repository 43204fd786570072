"""Who goes on as it is, and who waits, in which order: for policies that take nothing back."""

from reconcilers.layout.policies.rooms import can_run
from reconcilers.layout.snapshot import AppRequest, Snapshot


def split(snapshot: Snapshot) -> tuple[list[AppRequest], list[AppRequest]]:
    """Return the applications that run on, and those to be placed in the order of their turn.

    Whoever lost places that it had is placed anew, before all that never had any; then the
    higher priority, then the older.
    """
    kept = [app for app in snapshot.apps if can_run(app)]
    waiting = [app for app in snapshot.apps if not can_run(app)]
    waiting.sort(key=lambda app: (not _lost_places(app), -app.priority, app.submitted_ms))
    return kept, waiting


def _lost_places(app: AppRequest) -> bool:
    return app.is_evicted or bool(app.placement)
