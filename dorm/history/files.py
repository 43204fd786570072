"""A history as a file: JSON lines (`dorm.history.lines`), compressed when the name ends in .zst."""

import io
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import zstandard

from dorm.history.lines import Lines, written
from events.errors import Corrupt, NotFound, Rejected
from events.recorded import Recorded

COMPRESSED: Final = ".zst"


def write_file(path: str, history: Iterable[Recorded], *, cluster: str) -> int:
    """Write a history to a file in one step, and return how many events it has.

    Raises:
        Rejected: The file cannot be written; what stood there before still does.
    """
    count = -2  # the first line and the last one are no events
    with _replaced(path) as stream:
        for line in written(history, cluster=cluster):
            stream.write(line)
            count += 1
    return count


def cluster_of(path: str) -> str:
    """Return the name of the cluster whose history the file has.

    Raises:
        Corrupt: It is no such file.
        Rejected: There is no file (`NotFound`), or it cannot be read.
    """
    with _opened(path) as lines:
        return Lines(path, lines).header().cluster


def read_file(path: str) -> Iterator[Recorded]:
    """Yield the events of a file.

    Raises:
        Corrupt: It is damaged, cut off, or no such file.
        Rejected: There is no file (`NotFound`), or it cannot be read.
    """
    with _opened(path) as lines:
        text = Lines(path, lines)
        text.header()
        yield from text.events()


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
