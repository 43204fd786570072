"""Sealed segments leave etcd: archived first, verified, then deleted.

A segment is deleted only when all of this holds:

- its file in the archive adds up to the seal that the log has for it, read back just now;
- the archive has a file for every earlier segment too, so one directory has the whole history;
- the newest snapshot that this Dorm can read stands behind it, so masters start without it;
- the segments that stay hold as many events as are to be kept.

Its opening goes first, in a transaction of its own: from then on no reader takes what is left for
the whole. Then its events, in small transactions. Whoever is interrupted is finished by the next.
Nothing of it writes to the log: making room must be possible when etcd refuses every write.
"""

from typing import Final

import attrs
import structlog

from dorm.keys import Keys
from dorm.log import snapshots
from dorm.log.etcd_log import EtcdLog
from dorm.log.fence import check_fence, fence_compares
from dorm.log.segments import Opening
from dorm.ports.clock import Clock
from dorm.ports.etcd import Compare, Delete, Etcd, Get
from dorm.space.archive import Archive
from events.errors import Corrupt, NotFound

_log = structlog.get_logger()

DELETES_PER_WRITE: Final = 100  # etcd takes 128 operations
COUNTED_MAX: Final = 1_000_000  # no segment is that large
PAUSE_S: Final = 0.05  # between two such writes: a hundred keys at once are noticed by nobody


@attrs.frozen(kw_only=True)
class Blocked:
    """Why the oldest segment stays although it is old enough."""

    segment: int
    reason: str


class Retention:
    """The archive of one log, and what may be deleted for it.

    Attributes:
        blocked: Why the last `drop_next` deleted nothing although enough would have been left;
            None when nothing was in the way.
    """

    def __init__(
        self, etcd: Etcd, keys: Keys, *, log: EtcdLog, archive: Archive, clock: Clock
    ) -> None:
        self.blocked: Blocked | None = None
        self._etcd, self._keys, self._event_log = etcd, keys, log
        self._archive, self._clock = archive, clock
        self._counts: dict[int, int] = {}

    async def archive_next(self) -> int | None:
        """Archive the oldest sealed segment that has no file; return its number, if there is one.

        Raises:
            Corrupt: The segment is not what was sealed.
            Unavailable: etcd or the disk does not answer; try again later.
        """
        there = await self._archive.segments()
        *closed, _ = await self._event_log.segments.openings()
        for opening in closed:
            if opening.number in there:
                continue
            seal = await self._event_log.seal_of(opening.number)
            if seal is None:
                return None  # The seals come in order, so no later one is there either.
            recorded = await self._event_log.segment(opening.number)
            size = await self._archive.store(seal, recorded)
            _log.info(
                "segment.archived",
                segment=opening.number,
                events=seal.count,
                bytes=size,
                path=self._archive.path(opening.number),
            )
            return opening.number
        return None

    async def drop_next(self, *, keep_events: int, fence: int | None) -> int | None:
        """Delete the oldest segment if that may be; return its number.

        Args:
            keep_events: What is left must hold at least so many.
            fence: The leader's epoch. None for an operator: two that delete do no harm, because
                each has verified for itself what it deletes.

        Raises:
            Fenced: Another master leads.
            Unavailable: etcd or the disk does not answer; what was begun is finished later.
        """
        self.blocked = None
        openings = await self._event_log.segments.openings()
        await self._sweep(openings[0].number, fence=fence)
        if len(openings) == 1 or not await self._enough(openings[1:], keep_events):
            return None
        oldest, successor = openings[:2]
        reason = await self._in_the_way(oldest, successor)
        if reason:
            self.blocked = Blocked(segment=oldest.number, reason=reason)
            return None
        key = self._keys.segment_opening(oldest.number)
        result = await self._etcd.txn(
            (*fence_compares(self._keys, fence), Compare(key, "create", oldest.revision)),
            (Delete(key),),
            (Get(self._keys.leader),),
        )
        if not result.succeeded:
            check_fence(result.gets[0], fence)
            return None  # Somebody else deletes it.
        await self._sweep(successor.number, fence=fence)
        _log.info("segment.dropped", segment=oldest.number, log_begins_at=successor.number)
        return oldest.number

    async def _in_the_way(self, oldest: Opening, successor: Opening) -> str:
        """Return why a segment may not be deleted; nothing when it may."""
        missing = set(range(oldest.number)) - await self._archive.segments()
        if missing:
            return (
                f"{self._archive.path(min(missing))} is missing, so the history would be spread "
                "over several places: copy every archived segment into one directory"
            )
        seal = await self._event_log.seal_of(oldest.number)
        if seal is None:
            return "it is not sealed yet: only a leading master seals"
        snapshot = await snapshots.load(self._etcd, self._keys)
        if snapshot is None or snapshot.revision < successor.revision:
            return "no snapshot that this Dorm can read stands behind it"
        try:
            await self._archive.check(seal)
        except (Corrupt, NotFound) as error:
            _log.error("archive.damaged", segment=oldest.number, reason=str(error))
            await self._archive.store(seal, await self._event_log.segment(oldest.number))
        return ""

    async def _enough(self, openings: tuple[Opening, ...], keep_events: int) -> bool:
        """Return whether these segments hold so many events."""
        total, segments = 0, self._event_log.segments
        for opening in openings:  # The open one comes last; what the others hold is remembered.
            if total >= keep_events:
                return True
            count = self._counts.get(opening.number)
            if count is None:
                count = await segments.count(opening.number, limit=COUNTED_MAX)
            if opening is not openings[-1]:
                self._counts[opening.number] = count
            total += count
        return total >= keep_events

    async def _sweep(self, first: int, *, fence: int | None) -> None:
        """Delete every event of segments before `first`, which have no opening any more."""
        while True:  # Each turn ends a segment.
            lowest = (await self._etcd.range(self._keys.events, limit=1, keys_only=True)).items
            if not lowest or lowest[0].key >= self._keys.segment(first):
                return
            number = int(lowest[0].key.removeprefix(self._keys.events).split("/")[0])
            await self._empty(number, fence=fence)

    async def _empty(self, number: int, *, fence: int | None) -> None:
        while True:  # Each turn deletes some of a closed segment, so this ends.
            found = await self._etcd.range(
                self._keys.segment(number), limit=DELETES_PER_WRITE, keys_only=True
            )
            if not found.items:
                return
            result = await self._etcd.txn(
                fence_compares(self._keys, fence),
                [Delete(item.key) for item in found.items],
                (Get(self._keys.leader),),
            )
            if not result.succeeded:
                check_fence(result.gets[0], fence)
            await self._clock.sleep(PAUSE_S)
