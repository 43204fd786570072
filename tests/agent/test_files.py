"""The disk of an agent. Containers write into some of these directories, and may mean harm."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dorm.files import SystemFiles
from events.errors import Rejected, Unavailable

FILES = SystemFiles()


async def chunks(*data: bytes, fails: bool = False) -> AsyncIterator[bytes]:
    """Yield what a stream would."""
    for one in data:
        yield one
    if fails:
        raise Unavailable("the stream broke")


async def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Parents are made, contents replaced, and nothing else is left in the directory."""
    path = f"{tmp_path}/a/b"
    assert await FILES.read(path) is None
    await FILES.write(path, b"old")
    await FILES.write(path, b"new")
    await FILES.append(path, b" and more")

    assert await FILES.read(path) == b"new and more"
    assert await FILES.names(f"{tmp_path}/a") == ("b",)
    assert await FILES.names(f"{tmp_path}/none") == ()


async def test_a_name_with_a_zero_byte_is_no_file() -> None:
    """It comes with the path of a request for logs."""
    assert await FILES.read("/no\0where") is None


async def test_a_broken_stream_leaves_the_old_content(tmp_path: Path) -> None:
    """Half a log must not take the place of a whole one."""
    path = f"{tmp_path}/log"
    await FILES.save(path, chunks(b"one", b" two"))
    with pytest.raises(Unavailable):
        await FILES.save(path, chunks(b"half", fails=True))

    assert await FILES.read(path) == b"one two"


async def test_removing_takes_files_and_trees_but_never_follows_a_link(tmp_path: Path) -> None:
    """A container may leave a link to the machine's own files in its run directory."""
    kept = tmp_path / "kept"
    await FILES.write(f"{kept}/file", b"")
    await FILES.write(f"{tmp_path}/run/deep/file", b"")
    (tmp_path / "run" / "link").symlink_to(kept)
    (tmp_path / "link").symlink_to(kept)

    for name in ("run", "link", "none"):
        await FILES.remove(f"{tmp_path}/{name}")

    assert await FILES.names(str(tmp_path)) == ("kept",)
    assert await FILES.names(str(kept)) == ("file",)


async def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A pipe would block the agent for ever, a link would read what the container may not."""
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")

    for name in ("link", "pipe", "directory"):
        with pytest.raises(Unavailable):
            await FILES.read(f"{tmp_path}/{name}")


async def test_no_link_of_a_container_leads_a_new_directory_astray(tmp_path: Path) -> None:
    """Otherwise a tenant could have the agent make directories anywhere on the machine."""
    mount, outside = tmp_path / "mount", tmp_path / "outside"
    mount.mkdir()
    outside.mkdir()
    (mount / "apps").symlink_to(outside)

    with pytest.raises(Rejected, match="symbolic link"):
        await FILES.make_dir(f"{mount}/apps/a", below=str(mount))

    assert list(outside.iterdir()) == []


async def test_a_mount_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """The operator has to make it; waiting would leave the user without a word."""
    with pytest.raises(Rejected, match="is not there"):
        await FILES.make_dir(f"{tmp_path}/none/a", below=f"{tmp_path}/none")


async def test_a_directory_for_all_may_be_written_by_any_user(tmp_path: Path) -> None:
    """Containers run as whatever user their image says, and have no power over modes."""
    path = tmp_path / "mount" / "a" / "b"
    (tmp_path / "mount").mkdir()
    for _ in range(2):
        await FILES.make_dir(str(path), below=f"{tmp_path}/mount", for_all=True)

    assert path.stat().st_mode & 0o777 == 0o777


async def test_a_broken_disk_is_unavailable(tmp_path: Path) -> None:
    """A full disk may be cleared, so the agent waits."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(Unavailable, match="file"):
        await FILES.write(f"{tmp_path}/file/below", b"")
