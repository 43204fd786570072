"""The processes of a container as its machine sees them: `/proc`, for an agent on the same machine.

What is read here may be gone, or another's, the next moment. So a process is held by a descriptor
and only then asked whether it is the container's: its number can go to nobody else meanwhile.
"""

import contextlib
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

PROC: Final = Path("/proc")


@attrs.frozen(kw_only=True)
class Process:
    """One process.

    Attributes:
        program: The name it was called by, without folders.
        handled: A bit for each signal that it catches, or blocks to wait for it; bit 0 is signal 1.
    """

    pid: int
    program: str
    handled: int

    def handles(self, signal: int) -> bool:
        """Return whether the signal is more to it than its end."""
        return bool(self.handled >> (signal - 1) & 1)


@contextlib.contextmanager
def held(pid: int, container_id: str) -> Iterator[int]:
    """Yield a descriptor of a process of that container.

    Raises:
        OSError: There is none of that number, or not in this container, or not on this machine.
    """
    number = os.pidfd_open(pid)
    try:
        if container_id not in (PROC / str(pid) / "cgroup").read_text():
            raise ProcessLookupError(pid, "is no process of the container on this machine")
        yield number
    finally:
        os.close(number)


def children(proc: Path = PROC) -> Mapping[int, Sequence[int]]:
    """Return the numbers of the children of each process of the machine."""
    found: dict[int, list[int]] = defaultdict(list)
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                # The name of the program, in brackets, may hold anything.
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    found[int(parent)].append(int(entry.name))
    return {parent: sorted(pids) for parent, pids in found.items()}


def read(pid: int, proc: Path = PROC) -> Process | None:
    """Return what can be seen of a process; None when it is gone."""
    try:
        called = (proc / str(pid) / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
        status = (proc / str(pid) / "status").read_text()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    handled = int(fields["SigCgt"], 16) | int(fields["SigBlk"], 16)
    return Process(pid=pid, program=called.rpartition("/")[2].lstrip("-"), handled=handled)
