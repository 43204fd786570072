"""A history as a file: JSON lines, compressed when the name ends in .zst.

The first line names the format and the cluster, the last one says how many events stand between
them, so that a file that was cut off is noticed. Each event is the very text that etcd stored,
so the hashes of the audit chain still fit.
"""

import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import msgspec
import zstandard

from events.codec import decode, encode, from_json, to_json
from events.errors import Corrupt, NotFound, Rejected
from events.recorded import Recorded

FORMAT: Final = "dorm-events/1"
COMPRESSED: Final = ".zst"


class _Header(msgspec.Struct):
    format: str
    cluster: str


class _Line(msgspec.Struct):
    event: msgspec.Raw
    revision: int
    segment: int


class _End(msgspec.Struct):
    """The last line. `through` is the revision of the last event."""

    events: int
    through: int


def write_file(path: str, history: Iterable[Recorded], *, cluster: str) -> int:
    """Write a history to a file in one step, and return how many events it has.

    Raises:
        Rejected: The file cannot be written; what stood there before still does.
    """
    count = through = 0
    with _replaced(path) as stream:
        stream.write(to_json(_Header(format=FORMAT, cluster=cluster)) + b"\n")
        for recorded in history:
            stream.write(_line(recorded))
            count, through = count + 1, recorded.revision
        stream.write(to_json(_End(events=count, through=through)) + b"\n")
    return count


def cluster_of(path: str) -> str:
    """Return the name of the cluster whose history the file has.

    Raises:
        Corrupt: It is no such file.
        Rejected: There is no file (`NotFound`), or it cannot be read.
    """
    with _opened(path) as lines:
        return _header(path, lines).cluster


def read_file(path: str) -> Iterator[Recorded]:
    """Yield the events of a file.

    Raises:
        Corrupt: It is damaged, cut off, or no such file.
        Rejected: There is no file (`NotFound`), or it cannot be read.
    """
    with _opened(path) as lines:
        _header(path, lines)
        count = through = 0
        for line in lines:
            if not line.startswith(b'{"event":'):
                _check_end(path, line, _End(events=count, through=through))
                if next(lines, b""):
                    raise Corrupt(f"{path}: there is more behind the last line")
                return
            stored = from_json(line, _Line)
            raw = bytes(stored.event)
            yield decode(raw, revision=stored.revision, segment=stored.segment)
            count, through = count + 1, stored.revision
        raise Corrupt(f"{path}: the file is cut off after {count} events")


def _line(recorded: Recorded) -> bytes:
    event = msgspec.Raw(encode(recorded))
    return to_json(_Line(event=event, revision=recorded.revision, segment=recorded.segment)) + b"\n"


def _header(path: str, lines: Iterator[bytes]) -> _Header:
    first = next(lines, b"")
    try:
        header = from_json(first, _Header)
    except Corrupt as error:
        raise Corrupt(f"{path}: this is no exported history (dorm-events export)") from error
    if header.format != FORMAT:
        raise Corrupt(
            f"{path}: the format is {header.format!r}, this Dorm reads {FORMAT}: upgrade this one"
        )
    return header


def _check_end(path: str, line: bytes, seen: _End) -> None:
    end = from_json(line, _End)
    if end != seen:
        raise Corrupt(
            f"{path}: {seen.events} events through revision {seen.through} are here, but the last "
            f"line says {end.events} through {end.through}"
        )


@contextmanager
def _opened(path: str) -> Iterator[Iterator[bytes]]:
    """Open a file as lines, and translate what can be wrong with it."""
    try:
        with Path(path).open("rb") as raw:
            yield _bounded(path, raw)
    except FileNotFoundError as error:
        raise NotFound("is no file", field="file", value=path) from error
    except OSError as error:
        raise _unusable(path, error) from error
    except zstandard.ZstdError as error:
        raise Corrupt(f"{path}: the compression is damaged: {error}") from error


def _bounded(path: str, raw: IO[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends. A last line without one was cut off."""
    plain: IO[bytes] = raw
    if path.endswith(COMPRESSED):
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
        plain = io.BufferedReader(reader)
    for line in plain:
        if not line.endswith(b"\n"):
            raise Corrupt(f"{path}: the last line is cut off")
        yield line[:-1]


@contextmanager
def _replaced(path: str) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when all is written, durably, or never."""
    target = Path(path)
    temporary = ""
    try:
        if target.exists() and not target.is_file():  # Nobody wants /dev/null to become a file.
            raise Rejected(
                "is a directory or a device",
                field="file",
                value=path,
                hint="name a file, new or to be replaced",
            )
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".export-", delete=False) as raw:
            temporary = raw.name
            if path.endswith(COMPRESSED):
                with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as stream:
                    yield stream
            else:
                yield raw.file
            raw.flush()
            os.fsync(raw.fileno())
        Path(temporary).replace(target)
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        with suppress(OSError):  # It is gone when it took its place.
            Path(temporary).unlink()


def _unusable(path: str, error: OSError) -> Rejected:
    return Rejected(f"cannot be used: {error.strerror}", field="file", value=path)
