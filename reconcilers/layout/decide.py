"""State in, `LayoutDecided` out."""

from collections.abc import Mapping
from typing import Final

from events.codec import digest, to_json
from events.layouts import CHANGES_PER_PART_MAX, LayoutDecided, Partition, PartitionChange
from events.state import ClusterState
from reconcilers.layout import fairness
from reconcilers.layout.problem import in_order, pose
from reconcilers.layout.validate import problems
from reconcilers.layout.wording import reason

POLICY: Final = "drf/1"
ROUNDS_MAX: Final = 20  # two are usual; a decision that stops here is sound, and the next goes on

Partitions = Mapping[str, Partition]


def plan(state: ClusterState) -> tuple[LayoutDecided, ...]:
    """Return the decision to append, in parts; nothing when the partitions in force are right.

    Deterministic in the state alone, so that an auditor can take every decision again.
    """
    old = {app.app_id: app.partition for app in in_order(state)}
    new = settle(state, old)
    changes = {
        app_id: PartitionChange(
            generation=state.apps[app_id].last_generation + 1,
            partition=new[app_id],
            reason=reason(state, state.apps[app_id], old, new),
        )
        for app_id in old
        if new[app_id] != old[app_id]
    }
    return _in_parts(state.revision, changes)


def settle(state: ClusterState, current: Partitions) -> Partitions:
    """Return partitions that another round would not improve on, beginning from `current`.

    Nobody is disturbed for nothing: a candidate is adopted only if `current` breaks a rule, or
    if it is fairer.
    """
    problem = pose(state)
    for _ in range(ROUNDS_MAX):
        candidate = {**current, **fairness.improve(problem, current)}
        if candidate == current:
            break
        is_fairer = fairness.standing(problem, candidate) > fairness.standing(problem, current)
        if not is_fairer and not problems(state, current):
            break
        broken = problems(state, candidate)
        assert not broken, f"the layout of revision {state.revision} is unsound: {broken}"
        current = candidate
    return current


def _in_parts(revision: int, changes: Mapping[str, PartitionChange]) -> tuple[LayoutDecided, ...]:
    rows = list(changes.items())
    starts = range(0, len(rows), CHANGES_PER_PART_MAX)
    parts = [dict(rows[start : start + CHANGES_PER_PART_MAX]) for start in starts]
    decision_id = f"{revision}-{digest(to_json(changes))[:12]}"
    return tuple(
        LayoutDecided(
            decision_id=decision_id,
            input_revision=revision,
            policy=POLICY,
            part=part,
            parts=len(parts),
            changes=content,
        )
        for part, content in enumerate(parts, start=1)
    )
