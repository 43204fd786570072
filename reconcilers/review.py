"""When time alone is a reason to decide again.

Most decisions follow from an event: an arrival, an end, a lost node. Two things only need time: an
application that waits is served at the cost of others once it has waited long enough, and one that
was just changed may be changed again once it has rested. So while something waits, the layout is
looked at now and then.
"""

from typing import Final

from events.policy import LayoutDue, LayoutRules
from events.state import App, ClusterState

REVIEW_MIN_MS: Final = 10_000  # however short rests are: each look is an event, kept for ever
LOOKS_PER_REST: Final = 10  # rests end at different times, and not each end is worth a look


def plan(state: ClusterState, waited_ms: int) -> tuple[LayoutDue, ...]:
    """Return the word that the layout is due, or nothing while it is not.

    Args:
        state: The present state.
        waited_ms: How long this leader has seen this `state.looked_at_ms`, by its own clock.
    """
    due_ms = due_in_ms(state)
    if due_ms is None or waited_ms < due_ms:
        return ()
    return (LayoutDue(waited_ms=waited_ms),)


def due_in_ms(state: ClusterState) -> int | None:
    """Return how long after the last look the next one is due; None if nothing waits for time."""
    if all(node.lost for node in state.nodes.values()):
        return None  # Time gives nobody a place where there is none.
    waits = [_wait_ms(state, app) for app in state.apps.values()]
    return min((wait_ms for wait_ms in waits if wait_ms is not None), default=None)


def pause_ms(rules: LayoutRules) -> int:
    """Return how long the layout is left alone at least, if only rests end."""
    return max(rules.min_run_ms // LOOKS_PER_REST, REVIEW_MIN_MS)


def _wait_ms(state: ClusterState, app: App) -> int | None:
    """Return how long after the last look time alone could change what the application has.

    Never for one on its way out, nor for a quarantined one, nor for one that has to wait for a
    retry: an event ends each of these.
    """
    if app.cancel_requested or app.quarantine or app.backoff or app.failure:
        return None
    if not app.partition:
        return max(state.rules.gang_wait_ms, pause_ms(state.rules))
    if app.disturbed_at_ms is None:
        return None
    rests_until_ms = app.disturbed_at_ms + state.rules.rest_ms(app.restart_ms)
    if rests_until_ms <= state.looked_at_ms:
        return None
    return max(rests_until_ms - state.looked_at_ms, pause_ms(state.rules))
