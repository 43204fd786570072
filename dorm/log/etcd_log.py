"""`EtcdLog`: the event log on etcd."""

from collections.abc import Sequence

import msgspec

from dorm.keys import Keys
from dorm.log.producer import AlreadyThere, OnceKey, Producer
from dorm.log.reader import Reader
from dorm.log.segments import Segments
from dorm.ports.etcd import Delete, Etcd, KeyValue, Put
from events.apps import AppSubmitted
from events.catalog import Event
from events.codec import digest, from_json, to_json
from events.control import SegmentSealed
from events.log import Page, Receipt, check_batch, repeated
from events.recorded import Recorded, Stamp


class _Submit(msgspec.Struct):
    """What is remembered under an idempotency key. `body` is the sha256 of the spec."""

    app_id: str
    body: str


class EtcdLog:
    """See `events.log.EventLog`.

    Attributes:
        segments: Where the log is cut.
    """

    def __init__(self, etcd: Etcd, keys: Keys, *, producer: str) -> None:
        """Take the name of this process as a writer; it must be new at each start."""
        self._etcd, self._keys, self._name = etcd, keys, producer
        self._mark_revision = 0
        self._open(producer)

    def enter(self, epoch: int, mark_revision: int) -> None:
        """See `events.log.EventLog`."""
        if mark_revision != self._mark_revision:
            self._mark_revision = mark_revision
            self._open(f"{self._name}.s{epoch}")

    async def bootstrap(self) -> None:
        """Make the first segment in an empty store; anyone may, at any time."""
        await self.segments.current()

    async def append(
        self,
        events: Sequence[Event],
        *,
        stamp: Stamp,
        fence: int | None = None,
        beside: Sequence[Put | Delete] = (),
    ) -> int:
        """See `events.log.EventLog`; `beside` is what the same transaction does besides."""
        check_batch(events)
        revision = await self._producer.write(events, stamp=stamp, fence=fence, beside=beside)
        assert isinstance(revision, int), "without a once-key a batch is written or raises"
        return revision

    async def settle(self) -> int | None:
        """See `events.log.EventLog`."""
        return await self._producer.settle()

    async def submit(self, event: AppSubmitted, *, key: str, stamp: Stamp) -> Receipt:
        """See `events.log.EventLog`."""
        body = digest(to_json(event.spec))
        memory = to_json(_Submit(app_id=event.app_id, body=body))
        once = OnceKey(key=self._keys.submit(key), value=memory)
        match await self._producer.write((event,), stamp=stamp, once=once):
            case AlreadyThere(item=item):
                return _receipt(item, event, key)
            case revision:
                return Receipt(app_id=event.app_id, revision=revision)

    async def receipt(self, event: AppSubmitted, *, key: str) -> Receipt | None:
        """See `events.log.EventLog`."""
        item = await self._etcd.get(self._keys.submit(key))
        return None if item is None else _receipt(item, event, key)

    async def read(self, *, after: int = 0) -> Page:
        """See `events.log.EventLog`."""
        return await self._reader.read(after=after)

    async def segment(self, number: int) -> tuple[Recorded, ...]:
        """Return all events of a closed segment; raises `Archived` when it is gone."""
        return await self._reader.segment(number)

    async def seal_of(self, number: int) -> SegmentSealed | None:
        """Return the seal that the log has for a segment; None before it is sealed."""
        return await self._reader.seal_of(number)

    async def seal(self, number: int, *, previous: str) -> SegmentSealed:
        """Return the seal of a closed segment; `previous` is the sha256 of the seal before it."""
        return await self._reader.seal(number, previous=previous)

    def _open(self, producer: str) -> None:
        """Begin with nothing remembered of what is stored."""
        self.segments = Segments(self._etcd, self._keys)
        self._reader = Reader(self._etcd, self._keys, self.segments)
        self._producer = Producer(
            self._etcd,
            self._keys,
            self.segments,
            name=producer,
            mark_revision=self._mark_revision,
        )


def _receipt(item: KeyValue, event: AppSubmitted, key: str) -> Receipt:
    """Return the first answer to a submit that comes again under the same key."""
    first = from_json(item.value, _Submit)
    receipt = Receipt(app_id=first.app_id, revision=item.create_revision)
    return repeated(key, digest(to_json(event.spec)), first.body, receipt)
