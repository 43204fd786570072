"""What the warden needs to know of the machine: its clock, its boot, its processes, small files."""

import contextlib
import functools
import os
import stat
import time
from pathlib import Path
from typing import Final

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_READ_BYTES_MAX: Final = 1 << 20
_START_FIELD: Final = 18  # of what follows the state in /proc/<pid>/stat: field 22 of proc(5)
_ENDED: Final = ("Z", "X")


def now_s() -> float:
    """Return seconds since the machine's boot, those in which it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@functools.cache
def boot_id() -> str:
    """Return what tells this boot from every other."""
    return _BOOT_ID.read_text().strip()


def start_ticks(pid: int) -> int | None:
    """Return when a process started, which tells it from a later one of that id.

    None when it has ended, also if its parent has not taken note of that.
    """
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = line.rpartition(")")[2].split()
    return None if state in _ENDED else int(fields[_START_FIELD])


def read_own(path: Path) -> bytes | None:
    """Return the content of a regular file that nobody but this user can have written.

    None when there is no such file, or anyone else could have made it.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        ours = found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return file.read(_READ_BYTES_MAX) if ours and stat.S_ISREG(found.st_mode) else None


def replace(path: Path, data: bytes) -> None:
    """Let a file have this content, in one step; only its owner may read it.

    It is not forced to disk: after a crash of the machine nothing of it means anything.

    Raises:
        OSError: It has the old content still.
    """
    part = path.with_name(f"{path.name}.new")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()  # Of one that died here. A new file has no old owner, link or mode.
    number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(number, "wb") as file:
        file.write(data)
    part.replace(path)
