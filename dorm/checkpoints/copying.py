"""The content of one file to another one, and its sha256 on the way."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable
from typing import Final

CHUNK_BYTES: Final = 4 << 20
_FICLONE: Final = 0x40049409
_NO_CLONES: Final = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM)
_DAMAGE: Final = (errno.EIO, errno.EBADMSG, errno.EUCLEAN)  # others are of a network, and pass

GoOn = Callable[[], None]
"""Called between two chunks; raises when nobody waits for the copy any more."""


class Unreadable(Exception):
    """The source cannot be read: the medium is damaged. The message says how."""


def copy(source: int, target: int, go_on: GoOn) -> tuple[int, str]:
    """Copy a whole file, durably; return its size in bytes and the sha256 of what was copied.

    Where the file system shares blocks between files, nothing is copied but read. One pass that
    reads, hashes and writes was faster than copying inside the kernel and reading the copy
    (`python -m tests.bench.checkpoints`).

    Raises:
        Unreadable: The source cannot be read.
        OSError: The target cannot be written.
    """
    reader = target if clone(source, target) else source
    size, sha256, buffer = 0, hashlib.sha256(), bytearray(CHUNK_BYTES)
    view = memoryview(buffer)
    while count := _read(reader, buffer):
        go_on()
        sha256.update(view[:count])
        if reader == source:
            _write_all(target, view[:count])
        size += count
    os.fsync(target)
    return size, sha256.hexdigest()


def clone(source: int, target: int) -> bool:
    """Let the target share the blocks of the source; return whether the file system can do that."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _NO_CLONES:
            return False
        raise
    return True


def _read(source: int, buffer: bytearray) -> int:
    try:
        return os.readv(source, [buffer])
    except OSError as error:
        if error.errno not in _DAMAGE:
            raise
        raise Unreadable(error.strerror or str(error)) from error


def _write_all(target: int, content: memoryview) -> None:
    while content:  # Ends because each write takes some, or raises.
        content = content[os.write(target, content) :]
