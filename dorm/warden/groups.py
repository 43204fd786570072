"""Cgroups as directories: what both versions have in common."""

import contextlib
import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

_READ_BYTES_MAX: Final = 1 << 20
_FIRST_PROCESS: Final = 1


class Kernel(Protocol):
    """What one version of cgroups can do to a group and all groups below it.

    Attributes:
        name: For people.
        root: Where the hierarchy is mounted.

    Raises, everywhere:
        OSError: It could not be done; FileNotFoundError when there is no such group.
    """

    name: str
    root: Path

    def is_told_to_freeze(self, group: Path) -> bool:
        """Return whether the group was told to freeze."""
        ...

    def is_frozen(self, group: Path) -> bool:
        """Return whether all that is in it has stopped; what waits for a disk stops later."""
        ...

    def freeze(self, group: Path) -> None:
        """Stop all that is in the group, and all that joins it."""
        ...

    def thaw(self, group: Path) -> None:
        """Let it go on."""
        ...

    def is_populated(self, group: Path) -> bool:
        """Return whether a process is in it."""
        ...

    def kill(self, group: Path) -> None:
        """End all that is in a frozen group. It stays frozen, and nothing in it runs for it."""
        ...


def read(path: Path) -> str:
    """Return the content of a kernel's file."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    with _translated(path), os.fdopen(number) as file:
        return file.read(_READ_BYTES_MAX)


def write(path: Path, text: str) -> None:
    """Write to a kernel's file. One that is not there is not made."""
    number = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        with _translated(path):
            os.write(number, text.encode())
    finally:
        os.close(number)


def subgroups(group: Path) -> list[Path]:
    """Return the groups directly below one, sorted; none when it is gone."""
    try:
        with os.scandir(group) as entries:
            found = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return [group / name for name in sorted(found)]


def processes(group: Path) -> list[int]:
    """Return the processes in a group and all below it; those of a group that goes have gone.

    A process of another pid namespace shows as 0, which is nobody that we may signal.
    """
    found = []
    with contextlib.suppress(FileNotFoundError):
        found = [int(line) for line in read(group / "cgroup.procs").split()]
    for below in subgroups(group):
        found += processes(below)
    return found


def kill(pid: int) -> bool:
    """Send SIGKILL; return whether there was somebody to send it to."""
    if pid <= _FIRST_PROCESS:  # As an argument of kill(2) those mean many.
        raise PermissionError(errno.EPERM, f"a container's process has the id {pid} here")
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def join(group: Path, pid: int) -> None:
    """Move a process, with all its threads, to a group. One that is gone is no error."""
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        write(group / "cgroup.procs", str(pid))


def remove_empty(group: Path) -> None:
    """Remove a group and all below it, as far as nothing is in them."""
    for below in subgroups(group):
        remove_empty(below)
    with contextlib.suppress(OSError):
        group.rmdir()


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Say of a group that went while its file was open what `open` says of one that is gone."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENODEV:
            raise FileNotFoundError(errno.ENOENT, "is gone", str(path)) from error
        raise
