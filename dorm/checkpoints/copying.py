"""The content of one file to another one, and its sha256."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable
from typing import Final

CHUNK_BYTES: Final = 256 << 10  # what a processor keeps near while it hashes
RANGE_BYTES: Final = 64 << 20
_FICLONE: Final = 0x40049409
_NO_CLONES: Final = (errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM)
_NO_RANGES: Final = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_DAMAGE: Final = (errno.EIO, errno.EBADMSG, errno.EUCLEAN)  # others are of a network, and pass

GoOn = Callable[[], None]
"""Called between two chunks; raises when nobody waits for the copy any more."""


class Unreadable(Exception):
    """The source cannot be read: the medium is damaged. The message says how."""


def copy(source: int, target: int, go_on: GoOn) -> tuple[int, str]:
    """Copy a whole file, durably; return size in bytes and sha256 of the copy.

    Where the file system shares blocks between files, nothing is copied but read. Elsewhere the
    kernel copies and the copy is read again, which was twice as fast as one pass through this
    process (`python -m tests.bench.checkpoints`).

    Raises:
        Unreadable: The medium is damaged.
        OSError: The target cannot be written.
    """
    try:
        if not clone(source, target):
            _transfer(source, target, go_on)
        os.lseek(target, 0, os.SEEK_SET)
        size, sha256, buffer = 0, hashlib.sha256(), bytearray(CHUNK_BYTES)
        view = memoryview(buffer)
        while count := os.readv(target, [buffer]):
            go_on()
            sha256.update(view[:count])
            size += count
        os.fsync(target)
    except OSError as error:
        if error.errno not in _DAMAGE:
            raise
        raise Unreadable(error.strerror or str(error)) from error
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


def _transfer(source: int, target: int, go_on: GoOn) -> None:
    try:
        while os.copy_file_range(source, target, RANGE_BYTES):
            go_on()
    except OSError as error:
        if error.errno not in _NO_RANGES:
            raise
        os.lseek(source, 0, os.SEEK_SET)
        os.lseek(target, 0, os.SEEK_SET)
        while chunk := os.read(source, CHUNK_BYTES):
            go_on()
            _write_all(target, memoryview(chunk))


def _write_all(target: int, content: memoryview) -> None:
    while content:  # Ends because each write takes some, or raises.
        content = content[os.write(target, content) :]
