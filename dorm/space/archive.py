"""Sealed segments as files: JSON lines as `dorm-events export` writes them, compressed.

One file a segment, written once. It names the seal that its events must add up to, and nothing
counts as archived before it was read back and did. All masters of a cluster need the same
directory, on storage that outlives their machines: it becomes the only copy.
"""

import asyncio
import hashlib
import itertools
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, TypeVar

import zstandard

from dorm.history.lines import Lines, written
from dorm.ports import Files
from events.codec import segment_line
from events.control import SegmentSealed
from events.errors import Corrupt, NotFound
from events.recorded import Recorded

T = TypeVar("T")

SLICE: Final = 200  # events; some milliseconds
_NAME: Final = re.compile(r"segment-([0-9]{8,})\.jsonl\.zst", re.ASCII)


class Archive:
    """The archived segments of one cluster, in `<directory>/<cluster>`."""

    def __init__(self, files: Files, directory: str, *, cluster: str) -> None:
        """Take the directory; it is made when the first file is written."""
        self._files, self._cluster = files, cluster
        self.place = str(PurePosixPath(directory) / cluster)

    def path(self, segment: int) -> str:
        """Return the file of a segment."""
        return f"{self.place}/segment-{segment:08d}.jsonl.zst"

    async def segments(self) -> frozenset[int]:
        """Return the segments that have a file, sound or not.

        Raises:
            Unavailable: The disk does not answer.
        """
        names = await self._files.names(self.place)
        found = (_NAME.fullmatch(name) for name in names)
        return frozenset(int(match[1]) for match in found if match)

    async def store(self, seal: SegmentSealed, recorded: Sequence[Recorded]) -> int:
        """Write a segment durably, read it back against its seal, and return its size in bytes.

        Raises:
            Corrupt: These events are not what was sealed, or did not come back as written.
            Unavailable: The disk does not answer, or is full.
        """
        await _check_seal(f"segment {seal.segment} in etcd", seal, recorded)
        compressor = zstandard.ZstdCompressor(write_checksum=True).compressobj()
        lines = written(recorded, cluster=self._cluster, seal=seal)
        packed = [compressor.compress(b"".join(some)) async for some in _in_slices(lines)]
        packed.append(compressor.flush())
        await self._files.write(self.path(seal.segment), b"".join(packed))
        await self.check(seal)
        return sum(map(len, packed))

    async def check(self, seal: SegmentSealed) -> None:
        """Make sure that the file of a segment holds exactly what `seal` says.

        Raises:
            Corrupt: It does not.
            NotFound: There is no file.
            Unavailable: The disk does not answer.
        """
        path = self.path(seal.segment)
        stated, recorded = await self._load(seal.segment)
        await _check_seal(path, seal, recorded)
        if stated != seal:
            raise Corrupt(f"{path}: it names another seal than the log has for that segment")

    async def read(self, segment: int) -> tuple[Recorded, ...]:
        """Return the events of a segment, in order.

        Raises:
            Corrupt: The file is damaged, or of another cluster or segment.
            NotFound: There is no file.
            Unavailable: The disk does not answer.
        """
        stated, recorded = await self._load(segment)
        await _check_seal(self.path(segment), stated, recorded)
        return recorded

    async def _load(self, segment: int) -> tuple[SegmentSealed, tuple[Recorded, ...]]:
        path = self.path(segment)
        packed = await self._files.read(path)
        if packed is None:
            raise NotFound(
                "is no file, so a piece of the history is missing",
                field="archive",
                value=path,
                hint=f"find where segment {segment} was archived: every master needs the same "
                "--archive directory; copy the file there",
            )
        text = Lines(path, _unpacked(path, packed))
        header = text.header()
        if header.cluster != self._cluster or header.seal is None:
            raise Corrupt(f"{path}: this is no archived segment of cluster {self._cluster}")
        if header.seal.segment != segment:
            raise Corrupt(f"{path}: it holds segment {header.seal.segment}")
        recorded: list[Recorded] = []
        async for some in _in_slices(text.events()):
            recorded += some
        return header.seal, tuple(recorded)


def _unpacked(path: str, packed: bytes) -> Iterator[bytes]:
    """Return the lines without their ends. A last one that is cut off has no such end."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return iter(reader.read().split(b"\n"))
    except zstandard.ZstdError as error:
        raise Corrupt(f"{path}: the compression is damaged: {error}") from error


async def _check_seal(where: str, seal: SegmentSealed, recorded: Sequence[Recorded]) -> None:
    sha256 = hashlib.sha256()
    async for some in _in_slices(iter(recorded)):
        for one in some:
            sha256.update(segment_line(one))
    if len(recorded) != seal.count or sha256.hexdigest() != seal.sha256:
        raise Corrupt(
            f"{where}: {len(recorded)} events are here that do not add up to the seal of segment "
            f"{seal.segment}, which states {seal.count} with sha256 {seal.sha256}"
        )


async def _in_slices(values: Iterator[T]) -> AsyncIterator[tuple[T, ...]]:
    """Yield some values at a time, and let others run between: a leader has a lease to keep."""
    while some := tuple(itertools.islice(values, SLICE)):
        yield some
        await asyncio.sleep(0)
