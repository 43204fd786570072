"""State in, `LayoutDecided` out: the masters' own call.

Poses the problem of a state (`pose`), has it decided as plain data (`decide`), deals out devices
(`devices`), words the reasons (`wording`), and has the result checked once more against the state.
"""

from collections.abc import Mapping

from events.codec import digest, to_json
from events.layouts import (
    CHANGES_PER_PART_MAX,
    LayoutDecided,
    LayoutQuality,
    Partition,
    PartitionChange,
    dearest,
)
from events.state import ClusterState
from reconcilers.layout.decide import decide
from reconcilers.layout.decision import Decision
from reconcilers.layout.devices import deal
from reconcilers.layout.pose import Posed, pose
from reconcilers.layout.problem import in_order
from reconcilers.layout.settled import problem_hash
from reconcilers.layout.validate import problems
from reconcilers.layout.versions import name_of
from reconcilers.layout.wording import Wording

Partitions = Mapping[str, Partition]


def plan(state: ClusterState, policy: str | None = None) -> tuple[LayoutDecided, ...]:
    """Return the decision to append, in parts; nothing while the state is settled.

    Settled is a state that poses the problem which was decided last. A decision that changes
    nothing is one too: it settles the state, so that it need not be taken again at each wake-up.

    Deterministic in the state alone, so that an auditor can take every decision again.

    Args:
        state: What is known.
        policy: In place of the configured one: for a fallback, or to take an old decision again.
    """
    posed_hash = problem_hash(state)
    if state.settled == posed_hash or not state.apps:
        return ()
    posed = pose(state, policy)
    decision = decide(posed.snapshot)
    old = {app.app_id: app.partition for app in in_order(state)}
    new = {**old, **_partitions(posed, decision)}
    broken = problems(state, new)
    assert not broken, f"the layout of revision {state.revision} is unsound: {broken}"
    wording = Wording.of(state, old, new)
    changes = {
        app_id: PartitionChange(
            generation=state.apps[app_id].last_generation + 1,
            partition=new[app_id],
            reason=wording.reason(state.apps[app_id], decision.verdicts.get(app_id)),
        )
        for app_id in old
        if new[app_id] != old[app_id]
    }
    return _in_parts(state, changes, decision, posed_hash, name_of(posed.snapshot.options.policy))


def _partitions(posed: Posed, decision: Decision) -> Partitions:
    contenders = posed.problem.contenders
    return {**posed.standing.held, **deal(contenders, decision.placements, posed.standing)}


def _quality(decision: Decision) -> LayoutQuality:
    return LayoutQuality(
        objective=decision.objective,
        bound=decision.bound,
        gap=decision.gap,
        loss=decision.loss,
        loss_bound=decision.loss_bound,
        touched=decision.touched,
        touches_max=decision.touches_max,
        released=decision.released,
        prices=dearest(decision.prices),
        input_hash=decision.input_hash,
        version=decision.version,
        fallback=decision.fallback,
    )


def _in_parts(
    state: ClusterState,
    changes: Mapping[str, PartitionChange],
    decision: Decision,
    posed_hash: str,
    policy: str,
) -> tuple[LayoutDecided, ...]:
    rows = list(changes.items())
    starts = range(0, max(1, len(rows)), CHANGES_PER_PART_MAX)
    parts = [dict(rows[start : start + CHANGES_PER_PART_MAX]) for start in starts]
    decision_id = f"{state.revision}-{digest(to_json(changes))[:12]}"
    return tuple(
        LayoutDecided(
            decision_id=decision_id,
            input_revision=state.revision,
            policy=policy,
            part=part,
            parts=len(parts),
            changes=content,
            problem_hash=posed_hash,
            quality=_quality(decision) if part == 1 else None,
        )
        for part, content in enumerate(parts, start=1)
    )
