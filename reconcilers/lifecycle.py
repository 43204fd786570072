"""The life of an application: completed, failed, retried after a wait, cancelled.

An exit without a request decides: all containers ended with 0 means finished; any other end fails
the generation, and then every container of it is stopped, because most frameworks never notice a
dead peer. After a request (a resize) exit codes mean nothing: frameworks lie there.
"""

from collections.abc import Mapping
from typing import Final

from events.apps import (
    AppCancelled,
    AppCompleted,
    AppFailed,
    AppRequeued,
    AppRetrying,
    RetryPolicy,
)
from events.codec import digest
from events.generations import StopRequested
from events.state import App, ClusterState, Exit, Generation

Action = AppCompleted | AppFailed | AppCancelled | AppRetrying | AppRequeued | StopRequested

JITTER_SHARE: Final = 5  # up to a fifth is added, so that apps that failed together part ways


def plan(state: ClusterState, waited_ms: Mapping[str, int]) -> tuple[Action, ...]:
    """Return at most one fact for each application, in order of submission.

    Args:
        state: The present state.
        waited_ms: For how long each application in backoff has been seen waiting, by its id.
    """
    actions = (_next(state, app, waited_ms.get(app.app_id, 0)) for app in state.apps.values())
    return tuple(action for action in actions if action is not None)


def _next(state: ClusterState, app: App, waited_ms: int) -> Action | None:
    if app.generation is not None:
        return _of_running(state, app, app.generation)
    if app.cancel_requested:
        return AppCancelled(app_id=app.app_id)
    if app.failure:
        return _after_failure(app)
    if app.backoff is not None and waited_ms >= app.backoff.wait_ms:
        return AppRequeued(app_id=app.app_id)
    return None


def _of_running(state: ClusterState, app: App, generation: Generation) -> Action | None:
    stop = generation.stop
    if stop is None and (failure := generation.first_failure) is not None:
        return _stop(app, generation, "failure", describe(*failure))
    if stop is None and (node_id := _expelled_node(state, generation)) is not None:
        # What runs there will never report. Its peers end now, while the node is fenced off.
        return _stop(app, generation, "failure", f"node {node_id} was lost")
    if stop is None and not generation.live:
        return AppCompleted(app_id=app.app_id)
    if app.cancel_requested and (stop is None or stop.cause == "resize"):
        return _stop(app, generation, "cancel", "cancelled by its user")
    return None


def _expelled_node(state: ClusterState, generation: Generation) -> str | None:
    """Return a node of the generation whose tenure is over, or None."""
    for member in generation.live:
        node = state.nodes.get(member.node_id)
        if node is not None and node.expelled:
            return member.node_id
    return None


def _stop(app: App, generation: Generation, cause: str, reason: str) -> StopRequested:
    return StopRequested(
        app_id=app.app_id, generation=generation.number, cause=cause, reason=reason
    )


def _after_failure(app: App) -> AppFailed | AppRetrying:
    progressed = app.checkpoint_step != app.failed_step
    attempt = (0 if progressed else app.failures) + (1 if app.failure_counts else 0)
    if attempt > app.spec.retry.max:
        retries = "retry" if app.spec.retry.max == 1 else "retries"
        return AppFailed(
            app_id=app.app_id,
            reason=f"{app.failure}; gave up after {app.spec.retry.max} {retries}",
        )
    return AppRetrying(
        app_id=app.app_id,
        attempt=attempt,
        # A lost node is not the application's fault: it need not wait as if it were.
        wait_ms=backoff_ms(app.spec.retry, app.app_id, attempt) if app.failure_counts else 0,
        reason=app.failure,
    )


def backoff_ms(policy: RetryPolicy, app_id: str, attempt: int) -> int:
    """Return the wait before a retry: doubling, bounded, with jitter that follows from the id."""
    doublings = min(max(0, attempt - 1), 30)  # 2**30 is past any bound; keep the number small
    wait_ms = min(policy.backoff_max_ms, policy.backoff_ms << doublings)
    jitter = int(digest(f"{app_id}/{attempt}".encode())[:8], 16)
    return wait_ms + jitter % (wait_ms // JITTER_SHARE + 1)


def describe(rank: int, exit_: Exit) -> str:
    """Return in words how a container failed."""
    what = {
        "oom": "ran out of memory",
        "killed": "was killed",
        "lost": "is gone without a trace",
        "start_error": "could not be started",
        "exited": f"ended with exit code {exit_.exit_code}",
    }[exit_.reason]
    return f"container {rank} {what}" + (f": {exit_.message}" if exit_.message else "")
