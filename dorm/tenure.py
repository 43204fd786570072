"""A node's tenure: its right to run containers, and how long that can last after its end.

The numbers follow from one another. A node may run its containers until `fence_s` after the
sending of the last request that etcd answered (or that was attested otherwise, see
`dorm.agent.right`); then its warden freezes them within `FREEZE_S_MAX`. Whoever waits for that on
another machine adds the drift of two clocks and a margin for its own scheduling.
"""

from typing import Final

import attrs

FENCE_S: Final = 4.0
FREEZE_S_MAX: Final = 1.0
DRIFT: Final = 0.04  # two clocks, each at most 2 % too fast or too slow
MARGIN_S: Final = 0.5
FAILSAFE_S_MAX: Final = 600.0
"""How long masters alone may extend a right, without etcd. A master that nobody knows yet waits
for as long before it may campaign, at most."""


@attrs.frozen(kw_only=True)
class TenureRecord:
    """The value of a node's tenure key.

    Attributes:
        tenure: Never used again once it is ended.
        closed: Nothing of it can run any more, so another agent may take the node's name.
        fence_s: For how long one beat extends the right.
    """

    tenure: str
    ended: bool = False
    closed: bool = False
    fence_s: float = FENCE_S

    @property
    def wait_s(self) -> float:
        """Return after how long, by any machine's clock, nothing of an ended tenure can run."""
        return (self.fence_s + FREEZE_S_MAX) * (1 + DRIFT) + MARGIN_S


@attrs.frozen(kw_only=True)
class MasterEntry:
    """One master as agents know it.

    Attributes:
        url: Where it answers.
        known: Every node has heard of it (or cannot count on others any more), so it may campaign.
    """

    url: str
    known: bool = False
