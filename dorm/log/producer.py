"""Write batches of events exactly once, in order, whatever answers get lost.

A batch has a number, and the producer's cursor key in etcd has a version, which grows by one with
each batch. A transaction that writes batch n compares the cursor's version with n - 1, so of any
number of tries at most one takes place, also of those that arrive long after we gave up on them.
The cursor's value is the hash of the batch's last event: it tells our batch from that of another
process which took the same name by mistake.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import attrs

from dorm.failpoints import point
from dorm.keys import Keys
from dorm.log.fence import check_fence, fence_compares
from dorm.log.segments import CurrentSegment, Segments, current_segment
from dorm.ports.etcd import Compare, Delete, Etcd, Get, KeyValue, Put, TxnResult
from events.catalog import Event
from events.codec import digest, encode
from events.errors import Corrupt, Fenced, Regressed, Rejected, Unavailable
from events.log import event_id
from events.recorded import Recorded, Stamp

TRIES_MAX: Final = 8  # a try is refused once per roll-over, and roll-overs are minutes apart


@attrs.frozen(kw_only=True)
class OnceKey:
    """A key that must not exist before the batch, and is written with it."""

    key: str
    value: bytes


@attrs.frozen(kw_only=True)
class AlreadyThere:
    """The batch was not written, for ever: its once-key was there before."""

    item: KeyValue


@attrs.frozen(kw_only=True)
class _Batch:
    number: int
    stored: tuple[tuple[str, bytes], ...]  # id and stored form of each event
    last_hash: str
    fence: int | None
    once: OnceKey | None
    beside: tuple[Put | Delete, ...] = ()


class Producer:
    """One process as a writer of the log. Its name must never have been used before."""

    def __init__(
        self, etcd: Etcd, keys: Keys, segments: Segments, *, name: str, mark_revision: int = 0
    ) -> None:
        """Write under `name`; only while the store's mark stands at this revision, if one is given.

        So no fact of one epoch of the store, however late it lands, gets into another.
        """
        self._etcd, self._keys, self._segments, self._name = etcd, keys, segments, name
        self._cursor = keys.producer(name)
        self._mark_revision = mark_revision
        self._epoch = (Compare(keys.store, "mod", mark_revision),) if mark_revision else ()
        self._when_refused = (
            *(Get(self._cursor), Get(keys.leader), Get(keys.segment_now)),
            Get(keys.store),
        )
        self._turn = asyncio.Lock()
        self._segment: CurrentSegment | None = None
        self._written = 0
        self._last_hash = ""
        self._open: _Batch | None = None
        self._settled_at: int | None = None

    async def write(
        self,
        events: Sequence[Event],
        *,
        stamp: Stamp,
        fence: int | None = None,
        once: OnceKey | None = None,
        beside: Sequence[Put | Delete] = (),
    ) -> int | AlreadyThere:
        """Write one batch and return its revision. A batch that is still open comes first.

        Args:
            events: Of the batch.
            stamp: Who, when and why.
            fence: The leader's epoch, for a write of the leader.
            once: A key that must not be there yet.
            beside: What else the same transaction does.

        Raises:
            Fenced: Another master leads.
            Regressed: The store is in another epoch, or has lost what was written before.
            Rejected: etcd refuses such a batch.
            Unavailable: Unknown; `settle`, or the next write, finds out.
        """
        async with self._turn:
            self._settled_at = await self._close_open() or self._settled_at
            batch = self._batch(events, stamp, fence, once)
            self._open = attrs.evolve(batch, beside=tuple(beside))
            return await self._finish(self._open)

    async def settle(self) -> int | None:
        """Bring a batch whose outcome is unknown to an end; return its revision if it was written.

        Raises:
            Unavailable: Still unknown.
        """
        async with self._turn:
            revision = await self._close_open() or self._settled_at
            self._settled_at = None
            return revision

    async def _close_open(self) -> int | None:
        if self._open is None:
            return None
        try:
            outcome = await self._finish(self._open)
        except (Fenced, Rejected):
            return None
        return outcome if isinstance(outcome, int) else None

    def _batch(
        self, events: Sequence[Event], stamp: Stamp, fence: int | None, once: OnceKey | None
    ) -> _Batch:
        number, previous = self._written + 1, self._last_hash
        stored: list[tuple[str, bytes]] = []
        for index, event in enumerate(events):
            identity = event_id(self._name, number, index)
            raw = encode(Recorded(event_id=identity, stamp=stamp, previous=previous, event=event))
            previous = digest(raw)
            stored.append((identity, raw))
        return _Batch(
            number=number, stored=tuple(stored), last_hash=previous, fence=fence, once=once
        )

    async def _finish(self, batch: _Batch) -> int | AlreadyThere:
        """Try a batch until its outcome is known. After `Unavailable` it stays open."""
        for _ in range(TRIES_MAX):
            if self._segment is None:
                self._segment = await self._segments.current()
            try:
                point("log.append.unwritten")
                result = await self._try(batch, self._segment)
                point("log.append.written")
                outcome = result.revision if result.succeeded else self._refused(batch, result)
            except (Fenced, Rejected):
                self._open = None  # No try of this batch can take place any more.
                raise
            if outcome is not None:
                self._open = None
                if isinstance(outcome, int):
                    self._written, self._last_hash = batch.number, batch.last_hash
                return outcome
        raise Unavailable(f"the log rolled over {TRIES_MAX} times in one append")

    async def _try(self, batch: _Batch, segment: CurrentSegment) -> TxnResult:
        keys = self._keys
        events = [(keys.event(segment.number, identity), raw) for identity, raw in batch.stored]
        once = () if batch.once is None else (batch.once,)
        return await self._etcd.txn(
            (
                Compare(keys.segment_now, "mod", segment.guard),
                Compare(self._cursor, "version", batch.number - 1),
                *self._epoch,
                *fence_compares(keys, batch.fence),
                *(Compare(one.key, "create", 0) for one in once),
                *(Compare(key, "create", 0) for key, _ in events),
            ),
            (
                *(Put(key, raw) for key, raw in events),
                Put(self._cursor, batch.last_hash.encode()),
                *(Put(one.key, one.value) for one in once),
                *batch.beside,
            ),
            (*self._when_refused, *(Get(one.key) for one in once)),
        )

    def _refused(self, batch: _Batch, result: TxnResult) -> int | AlreadyThere | None:
        """Return the outcome that a refused try reveals; None to try again in another segment.

        The order matters: an earlier try may have been written before the guard moved.
        """
        cursor, leader, now, mark, *once = result.gets
        version = cursor.version if cursor else 0
        if cursor and version == batch.number and cursor.value == batch.last_hash.encode():
            return cursor.mod_revision
        if version != batch.number - 1:
            raise Regressed(
                f"the cursor of producer {self._name} stands at {version}, not at "
                f"{batch.number - 1}: another process has its name, or the store lost writes"
            )
        if self._mark_revision and (not mark or mark.mod_revision != self._mark_revision):
            raise Regressed("the store is in another epoch than what was to be written")
        check_fence(leader, batch.fence)
        if once and once[0]:
            return AlreadyThere(item=once[0])
        if now is None or self._segment is None or now.mod_revision == self._segment.guard:
            raise Corrupt(f"events of batch {batch.number} of producer {self._name} are there")
        self._segment = current_segment(now, result.revision)
        return None
