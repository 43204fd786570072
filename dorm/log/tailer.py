"""Follow the log: every event once, in order, from any revision on, for ever.

Read what is there, then watch for what comes. When the watch ends, for whatever reason (its
member died or froze, compaction overtook it), read again from the last event. Two rules carry
this. The position advances only to revisions whose events were all delivered: a page's `through`,
or the revision of a watched event; never a watch response's header, which runs ahead of its events
while the watch catches up. And anything at or below the position is dropped when it comes again.

A watch is never the truth: etcd before 3.4.31 and 3.5.18 can lose events of a watch that compaction
overtakes (etcd issues 17529, 18089). So the log is listed now and then, and compared.
"""

from collections.abc import AsyncGenerator, Iterable
from typing import Final

import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.log.stored import recorded_event
from dorm.ports.clock import Clock, Randomness
from dorm.ports.etcd import Etcd, WatchEvent
from dorm.streams import closing
from events.errors import Compacted, Missed, Regressed, Unavailable
from events.log import EventLog, Page
from events.recorded import Recorded

_log = structlog.get_logger()


RELIST_S: Final = 30.0
RELIST_EVENTS: Final = 500
"""A busy log is compared sooner: what a snapshot holds was compared, and making room waits for
snapshots."""


class Tailer:
    """A follower of one log.

    Attributes:
        verified: Up to here what was delivered is what is stored.
    """

    def __init__(
        self, etcd: Etcd, keys: Keys, *, log: EventLog, clock: Clock, randomness: Randomness
    ) -> None:
        self._etcd, self._keys, self._event_log = etcd, keys, log
        self._clock, self._randomness = clock, randomness
        self.verified = 0

    async def batches(self, after: int = 0) -> AsyncGenerator[tuple[Recorded, ...], None]:
        """Yield the events behind revision `after`: whole transactions, in order, for ever.

        An empty batch is a sign of life: there is nothing new, and etcd answers.

        Raises:
            Archived: The log begins behind the position: go on from a snapshot.
            Corrupt: What is stored is no event.
            Regressed: etcd went back behind what was read.
            Missed: A watch has lost an event, and a later one was delivered.
        """
        position = self.verified = after
        watched_since: list[Recorded] = []  # what came by watches behind `verified`
        backoff = Backoff(self._clock, self._randomness)
        while True:  # Follows for ever; the caller stops asking.
            try:
                page = await self._event_log.read(after=self.verified)
                if page.at_end and page.through < position:
                    raise Regressed(f"etcd stands at {page.through}, but {position} was read")
                _compare(page, watched_since, position)
                fresh = tuple(one for one in page.recorded if one.revision > position)
                self.verified, position = page.through, max(position, page.through)
                watched_since = [one for one in watched_since if one.revision > page.through]
                yield fresh
                if not page.at_end:
                    continue
                relist_at = self._clock.monotonic() + RELIST_S
                watch = self._etcd.watch(self._keys.events, start_revision=position + 1)
                async with closing(watch) as watched:
                    async for batch in watched:
                        backoff.reset()
                        recorded = self._new_events(batch, position)
                        position = recorded[-1].revision if recorded else position
                        watched_since += recorded
                        yield recorded
                        if (
                            self._clock.monotonic() >= relist_at
                            or len(watched_since) >= RELIST_EVENTS
                        ):
                            break
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


def _compare(page: Page, watched: Iterable[Recorded], position: int) -> None:
    """Compare what is stored with what watches delivered, up to `position`.

    Raises:
        Missed: More is stored.
    """
    seen = {one.event_id for one in watched}
    lost = [one for one in page.recorded if one.revision <= position and one.event_id not in seen]
    if lost:
        raise Missed(f"a watch has lost {lost[0].event_id} at revision {lost[0].revision}")
