"""Files of this machine. The only place where an agent touches the disk.

Containers write into some of these directories, so nothing here follows a link that one of them
may have left, opens anything but regular files, or reads without a limit.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final, TypeVar

from dorm.failpoints import point
from events.errors import Rejected, Unavailable

T = TypeVar("T")

READ_BYTES_MAX: Final = 64 << 20


class SystemFiles:
    """See `dorm.ports.Files`. Each call runs in a thread, since disks can be slow.

    An error of the disk is `Unavailable`: a full one may be cleared.
    """

    async def read(self, path: str) -> bytes | None:
        """See `Files`."""
        return await _in_thread(lambda: _read(path))

    async def write(self, path: str, data: bytes) -> None:
        """See `Files`."""
        await _in_thread(lambda: _write(Path(path), data))

    async def append(self, path: str, data: bytes) -> None:
        """See `Files`."""
        await _in_thread(lambda: _append(Path(path), data))

    async def make_dir(self, path: str, *, below: str = "", for_all: bool = False) -> None:
        """See `Files`."""
        await _in_thread(lambda: _make_dir(Path(path), below=below, for_all=for_all))

    async def remove(self, path: str) -> None:
        """See `Files`."""
        await _in_thread(lambda: _remove(Path(path)))

    async def names(self, path: str) -> tuple[str, ...]:
        """See `Files`."""
        return await _in_thread(lambda: _names(path))

    async def free_bytes(self, path: str) -> int:
        """See `Files`."""
        return await _in_thread(lambda: free_bytes(Path(path)))

    async def save(self, path: str, chunks: AsyncIterator[bytes]) -> None:
        """See `Files`. A stream that breaks leaves the old content."""
        target, part = Path(path), Path(f"{path}.part")
        await _in_thread(lambda: _write(part, b""))
        async for chunk in chunks:
            await _in_thread(lambda data=chunk: _append(part, data, sync=False))  # type: ignore[misc]
        await _in_thread(lambda: _publish(part, target))


def free_bytes(path: Path) -> int:
    """Return how much this user may still write there; where nothing is yet, the parent counts.

    Raises:
        OSError: The disk does not say.
    """
    found = os.statvfs(next(one for one in (path, *path.parents) if one.exists()))
    return found.f_bavail * found.f_frsize


async def _in_thread(call: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(call)
    except OSError as error:
        msg = f"{error.filename or 'a file'}: {error.strerror or error}"
        raise Unavailable(msg) from error


def _read(path: str) -> bytes | None:
    # Not blocking: a container may have put a pipe there, which would never open.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        number = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:  # A zero byte, which no name has.
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_size > READ_BYTES_MAX:
            raise OSError(0, f"is no regular file of at most {READ_BYTES_MAX} bytes", path)
        return file.read(READ_BYTES_MAX)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.new")
    with part.open("wb") as file:
        file.write(data)
    _publish(part, path)


def _publish(part: Path, path: Path) -> None:
    """Let the finished part take the place of `path`, durably and in one step."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    point("files.write.unpublished")
    part.replace(path)
    _sync_dir(path.parent)


def _append(path: Path, data: bytes, *, sync: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    if new and sync:
        _sync_dir(path.parent)


def _sync_dir(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _make_dir(path: Path, *, below: str, for_all: bool) -> None:
    if not below:
        path.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as opened:
        root = Path(below) if below else path
        number = open_root(root)
        opened.callback(os.close, number)
        for part in path.relative_to(root).parts:
            number = enter(number, part, path)
            opened.callback(os.close, number)
        if for_all:
            os.fchmod(number, 0o777)


def open_root(root: Path | str) -> int:
    """Return a directory that is there, such as the source of a mount.

    Raises:
        Rejected: It is not.
    """
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError as error:
        raise Rejected(
            "is not there", field="path", value=str(root), hint="make it, or name another one"
        ) from error


def enter(parent: int, name: str, path: Path | str) -> int:
    """Return the directory `name` in `parent`, made if needed, and never through a link.

    Raises:
        Rejected: A symbolic link, or a file, is in the way to `path`.
    """
    if name == "..":
        raise Rejected("leads upwards", field="path", value=str(path))
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        raise Rejected(
            "has a file or a symbolic link in the way",
            field="path",
            value=str(path),
            hint=f"move {name} away",
        ) from error


def _remove(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return


def _names(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(entry.name for entry in Path(path).iterdir()))
    except FileNotFoundError:
        return ()
