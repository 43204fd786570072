"""The layout reconciler: who gets how many containers, and where.

Two layers. `decide(Snapshot) -> Decision` is plain data in and out, by one of several policies:
the utilization-fairness optimizer, fairness alone, and two for comparison. `plan(state)` is the
masters' call around it: it poses the problem of a state, deals out devices, words the reasons,
and has the result checked by a validator that knows nothing of any policy.
"""

from reconcilers.layout.decide import decide
from reconcilers.layout.decision import Decision, Limit, Verdict
from reconcilers.layout.plan import plan
from reconcilers.layout.settled import problem_hash
from reconcilers.layout.snapshot import (
    POLICIES,
    AppRequest,
    FixedRole,
    NodeOffer,
    Options,
    Snapshot,
    SpeedPoint,
)

__all__ = [
    "POLICIES",
    "AppRequest",
    "Decision",
    "FixedRole",
    "Limit",
    "NodeOffer",
    "Options",
    "Snapshot",
    "SpeedPoint",
    "Verdict",
    "decide",
    "plan",
    "problem_hash",
]
