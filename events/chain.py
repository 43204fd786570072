"""The audit chain: proof that a history is whole, unedited and in order.

Two chains cross. Each producer numbers its events without a gap and names the sha256 of its
previous one. Each seal names the count, the revisions and the sha256 of a whole segment, and the
seal before. A break of either is reported in a sentence, and the audit goes on behind it.

What no reader can see, because nothing stored refers to it: behind the last seal, a missing end of
a producer's events (also all of them), a changed last event of a producer, and revisions that
were changed without changing the order; and a history rewritten consistently from some event on,
by someone who knew everything behind it. Compare the newest seal with one noted elsewhere.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from events.codec import digest, encode, segment_line
from events.control import SegmentSealed
from events.recorded import Recorded


def verify(history: Iterable[Recorded]) -> tuple[str, ...]:
    """Return a sentence for each break of a history that is read from its very first event."""
    audit = Audit()
    return tuple(problem for recorded in history for problem in audit.feed(recorded))


@attrs.define
class _Cursor:
    """Where a producer stands: the last event that was seen of it."""

    batch: int = 0
    index: int = -1
    sha256: str = ""


@attrs.define
class _Segment:
    """What a seal will have to say of a segment."""

    count: int = 0
    first_revision: int = 0
    last_revision: int = 0
    sha256: Any = attrs.field(factory=hashlib.sha256)

    def add(self, recorded: Recorded) -> None:
        """Count one more event in."""
        self.first_revision = self.first_revision or recorded.revision
        self.last_revision = recorded.revision
        self.count += 1
        self.sha256.update(segment_line(recorded))


@attrs.define
class Audit:
    """A verification under way; holds one entry a producer and one an unsealed segment.

    Attributes:
        events: How many events were fed.
        sealed_segment: The newest segment whose seal was fed; -1 before the first.
        seal: The sha256 that this seal states.
    """

    events: int = 0
    sealed_segment: int = -1
    seal: str = ""
    _position: tuple[int, str] = (0, "")
    _segment: int = 0
    _producers: dict[str, _Cursor] = attrs.field(factory=dict)
    _unsealed: dict[int, _Segment] = attrs.field(factory=dict)

    def feed(self, recorded: Recorded) -> Iterator[str]:
        """Take the next event of the history, and yield what is wrong with it."""
        self.events += 1
        where = f"event {recorded.event_id} at revision {recorded.revision}"
        yield from self._order(recorded, where)
        yield from self._producer(recorded, where)
        self._unsealed.setdefault(recorded.segment, _Segment()).add(recorded)
        if isinstance(recorded.event, SegmentSealed):
            yield from self._sealed(recorded.event, recorded.segment, where)

    def _order(self, recorded: Recorded, where: str) -> Iterator[str]:
        if recorded.position <= self._position:
            revision, event_id = self._position
            yield f"{where} is out of order: it stands behind {event_id} at revision {revision}"
        if recorded.segment < self._segment:
            yield f"{where} is of segment {recorded.segment}, behind one of {self._segment}"
        self._position = recorded.position
        self._segment = max(self._segment, recorded.segment)

    def _producer(self, recorded: Recorded, where: str) -> Iterator[str]:
        number = _number(recorded.event_id)
        if number is None:
            yield f"{where} has no id of the form producer-batch-index"
            return
        batch, index = number
        cursor = self._producers.setdefault(recorded.producer, _Cursor())
        if number <= (cursor.batch, cursor.index):
            yield f"{where} comes again, or late: its producer was at {_at(cursor)} already"
            return
        if number not in ((cursor.batch, cursor.index + 1), (cursor.batch + 1, 0)):
            yield f"{where} does not follow {_at(cursor)} of its producer: events are missing"
        if recorded.previous != cursor.sha256:
            yield (
                f"{where} was written behind another event of its producer than the one before it "
                f"here, {_at(cursor)}: that one is missing or was changed"
            )
        cursor.batch, cursor.index, cursor.sha256 = batch, index, digest(encode(recorded))

    def _sealed(self, seal: SegmentSealed, segment: int, where: str) -> Iterator[str]:
        name = f"the seal of segment {seal.segment}, {where},"
        if seal.segment != self.sealed_segment + 1:
            yield f"{name} does not follow the one of {self.sealed_segment}: seals are missing"
        if seal.previous != self.seal:
            yield f"{name} names another seal before it than the one that is here"
        if seal.segment >= segment:
            yield f"{name} stands inside the segment that it closes"
        held = self._unsealed.pop(seal.segment, _Segment())
        stated = (seal.count, seal.first_revision, seal.last_revision)
        if stated != (held.count, held.first_revision, held.last_revision):
            yield (
                f"{name} states {_span(*stated)}, but the segment holds "
                f"{_span(held.count, held.first_revision, held.last_revision)}"
            )
        if seal.sha256 != held.sha256.hexdigest():
            yield f"{name} states another sha256 than the segment has: an event in it was changed"
        self.sealed_segment, self.seal = max(self.sealed_segment, seal.segment), seal.sha256


def _number(event_id: str) -> tuple[int, int] | None:
    parts = event_id.rsplit("-", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):  # noqa: PLR2004
        return None
    return int(parts[1]), int(parts[2])


def _at(cursor: _Cursor) -> str:
    return f"batch {cursor.batch} index {cursor.index}" if cursor.batch else "its start"


def _span(count: int, first_revision: int, last_revision: int) -> str:
    return f"{count} events of revisions {first_revision} to {last_revision}"
