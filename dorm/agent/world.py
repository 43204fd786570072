"""The ports of one agent, in one hand."""

from typing import Final

import attrs

from dorm.backoff import Backoff
from dorm.ports import Checkpoints, Clock, Docker, Etcd, Files, Masters, Randomness, Warden
from events.log import EventLog

FIRST_S: Final = 0.2
MAX_S: Final = 5.0  # an agent may be cut off for long, and there are many of them
RENEWAL_MAX_S: Final = 1.0  # what keeps containers running may not wait that long


@attrs.frozen(kw_only=True)
class World:
    """All that an agent touches.

    Attributes:
        warden: None for a node that cannot be fenced: it holds no tenure, and when it is lost an
            operator has to say what became of it.
    """

    etcd: Etcd
    log: EventLog
    docker: Docker
    files: Files
    checkpoints: Checkpoints
    clock: Clock
    randomness: Randomness
    masters: Masters
    warden: Warden | None = None

    def backoff(self, *, max_s: float = MAX_S) -> Backoff:
        """Return a new back-off: each thing that may fail has its own."""
        return Backoff(self.clock, self.randomness, first_s=FIRST_S, max_s=max_s)
