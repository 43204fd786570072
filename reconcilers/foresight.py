"""What a change would do, before it is made: the decisions of a state that is not yet.

A forecast, not a promise: the state may have moved on when the change is made, and it is made by
fairness alone, so that no solver has to run where a user waits for an answer.
"""

from events.apps import AppChanged
from events.fold import apply
from events.layouts import join
from events.recorded import Recorded, Stamp
from events.state import ClusterState
from reconcilers import layout


def would_stop(state: ClusterState, change: AppChanged) -> bool:
    """Return whether the next layout would take every container from the changed application."""
    app = state.apps.get(change.app_id)
    if app is None or not app.partition:
        return False
    changed = Recorded(
        event_id="foresight-0000000001-000",
        revision=state.revision + 1,
        stamp=Stamp(at_ms=0, actor="foresight"),
        event=change,
    )
    decided = join(layout.plan(apply(state, changed), "drf"))
    return change.app_id in decided and not decided[change.app_id].partition
