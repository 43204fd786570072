"""The layout reconciler: who gets how many containers, and where.

`decide.plan` is the whole of it. It asks an algorithm (`fairness`, on a `board`) for a candidate,
adopts it only when that repairs something or makes the poorest better off, has it checked by a
validator that knows nothing of the algorithm (`validate`), and words the reasons from what
changed (`wording`). Another algorithm replaces `fairness.improve` and nothing else.
"""

from reconcilers.layout.decide import POLICY, plan

__all__ = ["POLICY", "plan"]
