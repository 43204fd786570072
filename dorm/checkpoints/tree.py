"""Directories by descriptor, so that no symbolic link on the way is ever followed."""

import contextlib
import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

import attrs

from dorm.checkpoints.manifest import DEPTH_MAX, ENTRIES_MAX, check_path
from dorm.files import enter, open_root
from dorm.ports.checkpoints import Place
from events.errors import Rejected

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: a container may have put a pipe there, which would never open.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_RENAME_NOREPLACE: Final = 1


@attrs.frozen(kw_only=True)
class Entry:
    """Something in a directory, seen without following it.

    Attributes:
        path: Below the directory that was walked.
    """

    path: str
    status: os.stat_result

    @property
    def mark(self) -> tuple[int, ...]:
        """Return what changes whenever the content does."""
        one = self.status
        return one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns


@contextlib.contextmanager
def home(place: Place) -> Iterator[int]:
    """Yield the application's part of the storage, made if needed.

    Raises:
        Rejected: The mount is not there, or a link or a file is in the way.
    """
    path, root = PurePosixPath(place.home), PurePosixPath(place.below)
    with contextlib.ExitStack() as opened:
        number = open_root(place.below)
        opened.callback(os.close, number)
        for part in path.relative_to(root).parts:
            number = enter(number, part, place.home)
            opened.callback(os.close, number)
        yield number


@contextlib.contextmanager
def opened(parent: int, path: str) -> Iterator[int]:
    """Yield the directory `path` below `parent`, which is there.

    Raises:
        OSError: It is not, or a part of it is a link.
    """
    with contextlib.ExitStack() as stack:
        number = parent
        for part in path.split("/") if path else ():
            number = os.open(part, _DIRECTORY, dir_fd=number)
            stack.callback(os.close, number)
        yield number


def open_file(parent: int, name: str) -> int:
    """Return a regular file, for reading.

    Raises:
        OSError: There is none of that name.
    """
    number = os.open(name, _FILE, dir_fd=parent)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "is no regular file", name)
    return number


def read_file(parent: int, name: str, *, bytes_max: int) -> bytes:
    """Return the content of a small regular file.

    Raises:
        OSError: There is none of that name, or it is too large.
    """
    with os.fdopen(open_file(parent, name), "rb") as file:
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        raise OSError(errno.EFBIG, f"is larger than {bytes_max} bytes", name)
    return content


def write_file(parent: int, name: str, content: bytes) -> None:
    """Make a small file, durably."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o444, dir_fd=parent), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def walk(root: int) -> Iterator[Entry]:
    """Yield all files, directories and links below `root`, parents first, in order of their names.

    What is none of these is passed over.

    Raises:
        Rejected: It is too deep, too many, or has a name that cannot be kept.
    """
    for count, entry in enumerate(_walk(root, "")):
        if count == ENTRIES_MAX:
            raise Rejected(
                f"has more than {ENTRIES_MAX} files",
                field="checkpoint",
                hint="pack them, or write what is no checkpoint elsewhere",
            )
        yield entry


def _walk(parent: int, prefix: str) -> Iterator[Entry]:
    if prefix.count("/") > DEPTH_MAX:
        raise Rejected(f"is deeper than {DEPTH_MAX} directories", field="checkpoint")
    for name in names(parent):
        path = prefix + name
        check_path(path)
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            continue  # Removed meanwhile, as scratch files are.
        if stat.S_ISDIR(status.st_mode):
            yield Entry(path=path, status=status)
            with opened(parent, name) as number:
                yield from _walk(number, f"{path}/")
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            yield Entry(path=path, status=status)


def names(parent: int) -> list[str]:
    """Return the names in a directory, sorted; of far too many, only some."""
    with os.scandir(parent) as rows:
        return sorted(row.name for row in islice(rows, ENTRIES_MAX + 1))


def exists(parent: int, name: str) -> bool:
    """Return whether something of that name is there, be it a link."""
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def rename_new(parent: int, old: str, new: str) -> bool:
    """Rename a directory in one step, durably; return False when `new` is there already."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = libc.renameat2(parent, os.fsencode(old), parent, os.fsencode(new), _RENAME_NOREPLACE)
    number = ctypes.get_errno() if code else 0
    if number in (errno.EINVAL, errno.ENOSYS):  # A file system that cannot refuse, such as NFS.
        try:
            if exists(parent, new):
                return False
            os.rename(old, new, src_dir_fd=parent, dst_dir_fd=parent)  # Refused unless it is empty.
            number = 0
        except OSError as error:
            number = error.errno or errno.EIO
    if number in (errno.EEXIST, errno.ENOTEMPTY):
        return False
    if number:
        raise OSError(number, os.strerror(number), new)
    os.fsync(parent)
    return True


def remove(parent: int, name: str) -> None:
    """Remove a directory with all that is in it. One that is not there is no error."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(name, dir_fd=parent)


def remove_quietly(parent: int, name: str) -> None:
    """Remove what can be removed; the rest is met again later."""
    shutil.rmtree(name, ignore_errors=True, dir_fd=parent)
