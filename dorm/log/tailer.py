"""Follow the log: every event once, in order, from any revision on, for ever.

Read what is there, then watch for what comes. When the watch ends, for whatever reason (its
member died or froze, compaction overtook it), read again from the last event. Two rules carry
this. The position advances only to revisions whose events were all delivered: a page's `through`,
or the revision of a watched event; never a watch response's header, which runs ahead of its events
while the watch catches up. And anything at or below the position is dropped when it comes again.
"""

from collections.abc import AsyncGenerator

import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.log.stored import recorded_event
from dorm.ports.clock import Clock, Randomness
from dorm.ports.etcd import Etcd, WatchEvent
from dorm.streams import closing
from events.errors import Compacted, Unavailable
from events.log import EventLog
from events.recorded import Recorded

_log = structlog.get_logger()


class Tailer:
    """A follower of one log."""

    def __init__(
        self, etcd: Etcd, keys: Keys, *, log: EventLog, clock: Clock, randomness: Randomness
    ) -> None:
        self._etcd, self._keys, self._event_log = etcd, keys, log
        self._clock, self._randomness = clock, randomness

    async def batches(self, after: int = 0) -> AsyncGenerator[tuple[Recorded, ...], None]:
        """Yield the events behind revision `after`: whole transactions, in order, for ever.

        An empty batch is a sign of life: there is nothing new, and etcd answers.

        Raises:
            Archived: The log begins behind the position: go on from a snapshot.
            Corrupt: What is stored is no event, or etcd went back behind what was read.
        """
        position = after
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Follows for ever; the caller stops asking.
            try:
                page = await self._event_log.read(after=position)
                position = page.through
                yield page.recorded
                if not page.at_end:
                    continue
                watch = self._etcd.watch(self._keys.events, start_revision=position + 1)
                async with closing(watch) as watched:
                    async for batch in watched:
                        backoff.reset()
                        recorded = self._new_events(batch, position)
                        position = recorded[-1].revision if recorded else position
                        yield recorded
            except Compacted as overtaken:
                _log.debug("tail.compacted", position=position, first=overtaken.revision)
            except Unavailable as error:
                wait_s = backoff.next_s()
                _log.warning("tail.unavailable", error=str(error), retry_s=round(wait_s, 3))
                await self._clock.sleep(wait_s)

    def _new_events(self, batch: tuple[WatchEvent, ...], position: int) -> tuple[Recorded, ...]:
        """Return the events of a batch that stand behind `position`, in order."""
        recorded = (
            recorded_event(self._keys, change.item)
            for change in batch
            if change.kind == "put" and change.item.mod_revision > position
        )
        return tuple(sorted(recorded, key=lambda one: one.position))
