"""Segments as files: whole, sealed, and read back before they count."""

import asyncio
from pathlib import Path

import attrs
import pytest

from dorm.files import SystemFiles
from dorm.history.files import read_file
from dorm.space.archive import Archive
from events.codec import segment_digest
from events.control import SegmentSealed
from events.errors import Corrupt, NotFound
from events.recorded import Recorded
from tests.history.days import a_day


@attrs.define
class BadDisk(SystemFiles):
    """A disk that says that it wrote, and loses a byte."""

    async def write(self, path: str, data: bytes) -> None:
        """See `Files`."""
        await super().write(path, data[:-9] + b"x" + data[-8:])


def sealed(segment: int = 0) -> tuple[SegmentSealed, tuple[Recorded, ...]]:
    """A day as one segment, with its seal."""
    recorded = tuple(attrs.evolve(one, segment=segment) for one in a_day())
    return (
        SegmentSealed(
            segment=segment,
            count=len(recorded),
            first_revision=recorded[0].revision,
            last_revision=recorded[-1].revision,
            sha256=segment_digest(recorded),
            previous="",
        ),
        recorded,
    )


def an_archive(tmp_path: Path, *, files: SystemFiles | None = None) -> Archive:
    """An archive of the cluster `lab`."""
    return Archive(files or SystemFiles(), str(tmp_path), cluster="lab")


def test_what_is_stored_is_read_back_and_is_an_export_too(tmp_path: Path) -> None:
    """A person with zstd and any JSON reader can read it in twenty years."""
    archive, (seal, recorded) = an_archive(tmp_path), sealed(3)

    assert frozenset() == asyncio.run(archive.segments())
    size = asyncio.run(archive.store(seal, recorded))

    assert frozenset({3}) == asyncio.run(archive.segments())
    assert recorded == asyncio.run(archive.read(3))
    path = Path(archive.path(3))
    assert path.stat().st_size == size
    assert recorded == tuple(read_file(str(path)))


def test_what_is_not_what_was_sealed_is_never_stored(tmp_path: Path) -> None:
    """Else the archive would testify to a history that was not."""
    archive, (seal, recorded) = an_archive(tmp_path), sealed()
    with pytest.raises(Corrupt, match="do not add up to the seal of segment 0"):
        asyncio.run(archive.store(seal, recorded[:-1]))
    assert frozenset() == asyncio.run(archive.segments())


def test_a_disk_that_lies_is_found_out_at_once(tmp_path: Path) -> None:
    """Before anything is deleted for its sake."""
    archive, (seal, recorded) = an_archive(tmp_path, files=BadDisk()), sealed()
    with pytest.raises(Corrupt):
        asyncio.run(archive.store(seal, recorded))


@pytest.mark.parametrize("what", ["cut", "edited", "other segment", "other cluster"])
def test_a_file_that_is_not_right_is_no_history(tmp_path: Path, what: str) -> None:
    """Read years later, by whoever needs to know."""
    archive, (seal, recorded) = an_archive(tmp_path), sealed()
    asyncio.run(archive.store(seal, recorded))
    path = Path(archive.path(0))
    match what:
        case "cut":
            path.write_bytes(path.read_bytes()[:-60])
        case "edited":
            other = attrs.evolve(seal, sha256=segment_digest(recorded[1:]), count=17)
            asyncio.run(archive.store(other, recorded[1:]))
            with pytest.raises(Corrupt, match="do not add up"):
                asyncio.run(archive.check(seal))
            return
        case "other segment":
            path.rename(archive.path(1))
            with pytest.raises(Corrupt, match="it holds segment 0"):
                asyncio.run(archive.read(1))
            return
        case _:
            archive = Archive(SystemFiles(), str(tmp_path), cluster="other")
            Path(archive.place).mkdir()
            path.rename(archive.path(0))
    with pytest.raises(Corrupt):
        asyncio.run(archive.read(0))


def test_a_missing_file_is_told_with_a_way_out(tmp_path: Path) -> None:
    """The operator learns which file, and where it may be."""
    with pytest.raises(NotFound, match=r"segment-00000007.*every master needs the same"):
        asyncio.run(an_archive(tmp_path).read(7))
