"""What agents say of the present, as a master last read it. Nothing is decided by it."""

from collections.abc import Mapping

import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.ports import Clock, Etcd, Randomness
from dorm.status import NodeStatus
from events.codec import from_json
from events.errors import Corrupt, Unavailable

_log = structlog.get_logger()


class Statuses:
    """The statuses of all nodes.

    Attributes:
        now: What was last read, by node id.
    """

    def __init__(
        self, etcd: Etcd, keys: Keys, *, clock: Clock, randomness: Randomness, look_s: float
    ) -> None:
        """Read every `look_s` seconds."""
        self.now: Mapping[str, NodeStatus] = {}
        self._etcd, self._prefix = etcd, keys.statuses
        self._clock, self._randomness, self._look_s = clock, randomness, look_s
        self._reads: dict[str, tuple[int, NodeStatus | None]] = {}

    async def run(self) -> None:
        """Read again and again, for ever."""
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Reads until it is cancelled.
            try:
                found = await self._etcd.range(self._prefix)
                reads = self._reads
                self._reads = {
                    item.key: reads[item.key]
                    if reads.get(item.key, (0, None))[0] == item.mod_revision
                    else (item.mod_revision, _readable(item.value))
                    for item in found.items
                }
                self.now = {
                    status.node_id: status
                    for _, status in self._reads.values()
                    if status is not None
                }
                backoff.reset()
                await self._clock.sleep(self._look_s)
            except Unavailable as error:
                _log.warning("statuses.stale", error=str(error))
                await backoff.wait()


def _readable(raw: bytes) -> NodeStatus | None:
    """Return a status; None for one of another version."""
    try:
        return from_json(raw, NodeStatus)
    except Corrupt as error:
        _log.debug("status.ignored", error=str(error))
        return None
