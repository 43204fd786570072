"""Compaction: etcd keeps every version of every key until it is told otherwise.

Events are live keys and never lost by it. What it drops is old versions of what changes: cursors,
documents, statuses, leases of nodes, which are written every second. A watch that is overtaken
lists again, so nobody needs the old versions; some minutes are kept so that it happens rarely.
"""

from collections import deque

import structlog

from dorm.keys import Keys
from dorm.ports.clock import Clock
from dorm.ports.etcd import Etcd

_log = structlog.get_logger()


class Compactor:
    """Compacts to what was the present some minutes ago, by this process's own clock."""

    def __init__(
        self, etcd: Etcd, keys: Keys, *, clock: Clock, every_s: float, history_s: float
    ) -> None:
        self._etcd, self._keys, self._clock = etcd, keys, clock
        self._every_s, self._history_s = every_s, history_s
        self._looks: deque[tuple[float, int]] = deque()
        self._compacted = 0

    async def step(self, *, hard: bool = False) -> int | None:
        """Note where the store stands, and compact if it is time; return to which revision.

        To be called more often than `every_s`. A new leader begins after `history_s`.

        Args:
            hard: Keep a tenth of the history only, because there is little room left.

        Raises:
            Unavailable: etcd did not answer.
        """
        now = self._clock.monotonic()
        if self._looks and now < self._looks[-1][0] + self._every_s:
            return None
        found = await self._etcd.range(self._keys.leader, limit=1, keys_only=True)
        self._looks.append((now, found.revision))
        history_s = self._history_s / 10 if hard else self._history_s
        target = self._compacted
        while self._looks and self._looks[0][0] <= now - history_s:
            target = self._looks.popleft()[1]
        if target <= self._compacted:
            return None
        await self._etcd.compact(target)
        self._compacted = target
        _log.info("etcd.compacted", revision=target, kept=found.revision - target)
        return target
