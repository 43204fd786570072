"""Segments: the log is cut into pieces, so that each can be read, sealed and moved away alone.

`seg/cur` names the segment that takes events. Every append compares its mod revision, so after a
roll-over nothing can be added to the segment before, not even by a write that was under way. The
roll-over also creates `seg/at/<new segment>`; the create revision of that key separates the
revisions of the two segments, which tells a reader where to begin.

Old segments are archived and deleted (`dorm.space.retention`), in order: first their opening, then
their events. So the log begins with the first segment that has an opening.
"""

import bisect
import itertools

import attrs

from dorm.keys import Keys
from dorm.log.fence import check_fence, fence_compares
from dorm.ports.etcd import Compare, Etcd, Get, KeyValue, Put
from events.errors import Archived, Corrupt


@attrs.frozen(kw_only=True)
class CurrentSegment:
    """The segment that takes events.

    Attributes:
        number: Counts from 0.
        guard: Mod revision of the key that says so. Appends compare it.
        revision: The store's revision when this was read: events up to it are all in place.
    """

    number: int
    guard: int
    revision: int


@attrs.frozen(kw_only=True)
class Opening:
    """Where a segment begins: `revision` stands before its events and behind all earlier ones."""

    number: int
    revision: int


class Segments:
    """The cuts of one log, remembered as far as they were seen; they never change."""

    def __init__(self, etcd: Etcd, keys: Keys) -> None:
        self._etcd, self._keys = etcd, keys
        self._openings: tuple[Opening, ...] = ()

    async def current(self) -> CurrentSegment:
        """Return the segment that takes events; make the first one in an empty store.

        Raises:
            Unavailable: etcd did not answer.
        """
        now = Get(self._keys.segment_now)
        first = Put(self._keys.segment_now, b"0")
        opening = Put(self._keys.segment_opening(0), b"")
        result = await self._etcd.txn((), (now,))
        if result.gets[0] is None:
            absent = Compare(self._keys.segment_now, "create", 0)
            await self._etcd.txn((absent,), (first, opening))
            result = await self._etcd.txn((), (now,))
        item = result.gets[0]
        if item is None:
            raise Corrupt(f"{now.key} was removed: the log has lost its end")
        return current_segment(item, result.revision)

    async def count(self, number: int, *, limit: int) -> int:
        """Return how many events a segment holds, or `limit` if there are more."""
        found = await self._etcd.range(self._keys.segment(number), limit=limit, keys_only=True)
        return len(found.items)

    async def roll_over(self, segment: CurrentSegment, *, fence: int) -> int:
        """Close `segment` for ever; return the number of the one that takes events then.

        Safe to try again: a segment that is closed already stays as it is.

        Raises:
            Fenced: Another master leads.
            Unavailable: The outcome is unknown; try again.
        """
        number = segment.number + 1
        now = Compare(self._keys.segment_now, "mod", segment.guard)
        result = await self._etcd.txn(
            (*fence_compares(self._keys, fence), now),
            (
                Put(self._keys.segment_now, b"%d" % number),
                Put(self._keys.segment_opening(number), b""),
            ),
            (Get(self._keys.leader),),
        )
        if not result.succeeded:
            check_fence(result.gets[0], fence)
            return (await self.current()).number
        return number

    async def openings(self) -> tuple[Opening, ...]:
        """Return the segments that the log has now, in order, without a gap; the first one too.

        Raises:
            Corrupt: One in the middle is missing.
            Unavailable: etcd did not answer.
        """
        prefix = self._keys.segment_openings
        found = await self._etcd.range(prefix)
        openings = tuple(
            Opening(number=int(item.key.removeprefix(prefix)), revision=item.create_revision)
            for item in found.items
        )
        for before, after in itertools.pairwise(openings):
            if after.number != before.number + 1:
                raise self._missing(before.number + 1)
        return openings

    async def number_behind(self, revision: int, current: CurrentSegment) -> int:
        """Return the first segment that may hold events behind `revision`.

        Raises:
            Archived: There may be such events in segments that the log does not have any more.
        """
        openings = await self._learn(current)
        first = openings[0]
        if first.number > 0 and revision < first.revision:
            raise Archived(first.number, first.revision)
        index = bisect.bisect_right(openings, revision, key=lambda one: one.revision) - 1
        return openings[max(index, 0)].number

    async def closed_at(self, number: int, current: CurrentSegment) -> int:
        """Return a revision behind every event of a closed segment, and before any later one."""
        openings = await self._learn(current)
        return openings[number + 1 - openings[0].number].revision

    async def check_whole(self, number: int) -> None:
        """Make sure that a segment was all there while it was read: to be called afterwards.

        Its opening is deleted before its first event is, so a reader that was paused for hours
        finds out, instead of taking what is left for the whole.

        Raises:
            Archived: The segment is, or may be, deleted in part.
        """
        if await self._etcd.get(self._keys.segment_opening(number)) is None:
            self._openings = ()
            first = (await self.openings())[0]
            raise Archived(first.number, first.revision)

    async def _learn(self, current: CurrentSegment) -> tuple[Opening, ...]:
        openings = self._openings
        if not openings or openings[-1].number < current.number:
            # Several readers may be here at once: each sets a whole new tuple.
            self._openings = openings = await self.openings()
        if not openings or openings[-1].number < current.number:
            raise self._missing(current.number)
        return openings

    def _missing(self, number: int) -> Corrupt:
        return Corrupt(
            f"the opening of segment {number} is missing below {self._keys.segment_openings}"
        )


def current_segment(item: KeyValue, revision: int) -> CurrentSegment:
    """Return what the value of `seg/cur` says, as read at `revision`."""
    try:
        number = int(item.value)
    except ValueError as error:
        raise Corrupt(f"{item.key} holds no segment number but {item.value[:40]!r}") from error
    return CurrentSegment(number=number, guard=item.mod_revision, revision=revision)
