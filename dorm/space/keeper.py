"""The leader's care for room: compaction, archive and retention, beside its decisions.

It runs as a task of its own, because to archive a segment takes a second or more, and no decision
may wait for that. It appends nothing.
"""

from typing import Final

import structlog

from dorm.backoff import Backoff
from dorm.config import SpaceConfig
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.ports.clock import Clock, Randomness
from dorm.ports.etcd import Etcd
from dorm.space.archive import Archive
from dorm.space.compaction import Compactor
from dorm.space.levels import Level
from dorm.space.retention import Retention
from dorm.space.watching import SpaceWatch
from events.errors import DormError, Fenced

_log = structlog.get_logger()

IDLE_S: Final = 5.0
BUSY_S: Final = 0.2
KEPT_PART: Final = {Level.ROOMY: 1.0, Level.FILLING: 0.25}
"""Of `retain_events`; past those levels nothing stays but what no snapshot covers."""


class Keeper:
    """The care for room of one master, while it leads."""

    def __init__(  # noqa: PLR0913 - the parts of one master, by name
        self,
        config: SpaceConfig,
        *,
        etcd: Etcd,
        keys: Keys,
        log: EtcdLog,
        archive: Archive | None,
        watch: SpaceWatch,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        """Take the parts. Without an archive nothing of the log is ever deleted."""
        self._config, self._watch = config, watch
        self._clock, self._randomness = clock, randomness
        self._compactor = Compactor(
            etcd,
            keys,
            clock=clock,
            every_s=config.compact_every_s,
            history_s=config.history_s,
        )
        self._retention = (
            None
            if archive is None
            else Retention(etcd, keys, log=log, archive=archive, clock=clock)
        )
        self._blocked = ""

    async def run(self, epoch: int) -> None:
        """Work for a term. Whatever fails is told and tried again: nothing depends on it.

        Returns when another master leads.
        """
        backoff = Backoff(self._clock, self._randomness, max_s=60.0)
        while True:  # Ends with the term.
            try:
                busy = await self.step(epoch)
                backoff.reset()
            except Fenced:
                return
            except DormError as error:
                wait_s = backoff.next_s()
                _log.warning("space.backing_off", error=str(error), retry_s=round(wait_s, 3))
                await self._clock.sleep(wait_s)
                continue
            await self._clock.sleep(BUSY_S if busy else IDLE_S)

    async def step(self, epoch: int) -> bool:
        """Do some of what is due; return whether there may be more of it.

        Raises:
            Fenced: Another master leads.
            DormError: Something did not answer, or a file or a segment is damaged.
        """
        level = self._watch.now.level
        await self._compactor.step(hard=level > Level.ROOMY)
        if self._retention is None:
            return False
        archived = await self._retention.archive_next()
        keep = int(self._config.retain_events * KEPT_PART.get(level, 0.0))
        dropped = await self._retention.drop_next(keep_events=keep, fence=epoch)
        self._tell_block()
        return archived is not None or dropped is not None

    def _tell_block(self) -> None:
        blocked = self._retention.blocked if self._retention else None
        reason = blocked.reason if blocked else ""
        if blocked and reason != self._blocked:
            _log.warning("segment.stays", segment=blocked.segment, reason=reason)
        self._blocked = reason
