"""A history as lines of JSON: the format of exports and of archived segments.

The first line names the format and the cluster, the last one says how many events stand between
them, so that a text that was cut off is noticed. Each event is the very text that etcd stored,
so the hashes of the audit chain still fit.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import attrs
import msgspec

from events.codec import decode, encode, from_json, to_json
from events.control import SegmentSealed
from events.errors import Corrupt
from events.recorded import Recorded

FORMAT: Final = "dorm-events/1"


class Header(msgspec.Struct, omit_defaults=True):
    """The first line.

    Attributes:
        seal: Of an archived segment: what its events must add up to.
    """

    format: str
    cluster: str
    seal: SegmentSealed | None = None


class _Line(msgspec.Struct):
    event: msgspec.Raw
    revision: int
    segment: int


class _End(msgspec.Struct):
    """The last line. `through` is the revision of the last event."""

    events: int
    through: int


def written(
    history: Iterable[Recorded], *, cluster: str, seal: SegmentSealed | None = None
) -> Iterator[bytes]:
    """Yield the lines of a history, with their ends."""
    count = through = 0
    yield to_json(Header(format=FORMAT, cluster=cluster, seal=seal)) + b"\n"
    for recorded in history:
        yield _line(recorded)
        count, through = count + 1, recorded.revision
    yield to_json(_End(events=count, through=through)) + b"\n"


@attrs.frozen
class Lines:
    """A text that is read. `name` is for messages; `lines` come without their ends."""

    name: str
    lines: Iterator[bytes]

    def header(self) -> Header:
        """Return the first line. To be called once, and first.

        Raises:
            Corrupt: This is no such text.
        """
        first = next(self.lines, b"")
        try:
            header = from_json(first, Header)
        except Corrupt as error:
            raise Corrupt(
                f"{self.name}: this is no exported history (dorm-events export)"
            ) from error
        if header.format != FORMAT:
            raise Corrupt(
                f"{self.name}: the format is {header.format!r}, this Dorm reads {FORMAT}: "
                "upgrade this one"
            )
        return header

    def events(self) -> Iterator[Recorded]:
        """Yield the events behind the header.

        Raises:
            Corrupt: The text is damaged or cut off.
        """
        count = through = 0
        for line in self.lines:
            if not line.startswith(b'{"event":'):
                self._check_end(line, _End(events=count, through=through))
                if next(self.lines, b""):
                    raise Corrupt(f"{self.name}: there is more behind the last line")
                return
            stored = from_json(line, _Line)
            raw = bytes(stored.event)
            yield decode(raw, revision=stored.revision, segment=stored.segment)
            count, through = count + 1, stored.revision
        raise Corrupt(f"{self.name}: the file is cut off after {count} events")

    def _check_end(self, line: bytes, seen: _End) -> None:
        end = from_json(line, _End)
        if end != seen:
            raise Corrupt(
                f"{self.name}: {seen.events} events through revision {seen.through} are here, but "
                f"the last line says {end.events} through {end.through}"
            )


def _line(recorded: Recorded) -> bytes:
    event = msgspec.Raw(encode(recorded))
    return to_json(_Line(event=event, revision=recorded.revision, segment=recorded.segment)) + b"\n"
