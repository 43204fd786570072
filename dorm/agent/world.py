"""The ports of one agent, in one hand."""

from typing import Final

import attrs

from dorm.backoff import Backoff
from dorm.ports import Clock, Docker, Etcd, Files, Randomness
from events.log import EventLog

FIRST_S: Final = 0.2
MAX_S: Final = 5.0  # an agent may be cut off for long, and there are many of them


@attrs.frozen(kw_only=True)
class World:
    """All that an agent touches."""

    etcd: Etcd
    log: EventLog
    docker: Docker
    files: Files
    clock: Clock
    randomness: Randomness

    def backoff(self) -> Backoff:
        """Return a new back-off: each thing that may fail has its own."""
        return Backoff(self.clock, self.randomness, first_s=FIRST_S, max_s=MAX_S)
