"""Whether an answer of the child is one, judged against the state that it was asked about."""

from collections.abc import Sequence
from typing import Final

from events.layouts import LayoutDecided, join
from events.state import ClusterState
from reconcilers.layout.validate import problems

PROBLEMS_SHOWN: Final = 3


def follows(state: ClusterState, decisions: Sequence[LayoutDecided]) -> bool:
    """Return whether every change is for the next generation of an application that is there.

    The fold drops a change for containers that have started meanwhile.
    """
    return all(
        (app := state.apps.get(app_id)) is not None and change.generation == app.last_generation + 1
        for app_id, change in join(decisions).items()
    )


def objection(state: ClusterState, decisions: Sequence[LayoutDecided]) -> str:
    """Return what is wrong with a decision on this state; empty when it can be appended.

    The validator that is asked knows nothing of any algorithm.
    """
    if not decisions:
        return ""
    parts = [(decision.part, decision.parts) for decision in decisions]
    if parts != [(number, len(decisions)) for number in range(1, len(decisions) + 1)]:
        return f"parts {parts} are no whole decision"
    if len({decision.decision_id for decision in decisions}) > 1:
        return "parts of different decisions"
    if not follows(state, decisions):
        return "a change is for no application, or not for its next generation"
    granted = {app_id: app.partition for app_id, app in state.apps.items()}
    changed = {app_id: change.partition for app_id, change in join(decisions).items()}
    found = problems(state, {**granted, **changed})
    return "; ".join(found[:PROBLEMS_SHOWN])
