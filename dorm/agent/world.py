"""The ports of one agent, in one hand."""

import attrs

from dorm.agent.backoff import Backoff
from dorm.ports import Clock, Docker, Etcd, Files, Randomness
from events.log import EventLog


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
        return Backoff(self.clock, self.randomness)
