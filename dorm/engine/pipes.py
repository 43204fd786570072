"""Room for a container's output while the engine is away.

Nobody reads the pipes of a container while the engine is down, and a program that prints into
a full pipe stands still until the engine is back. Linux gives a pipe 64 KiB; the machine's limit,
`fs.pipe-max-size`, is 1 MiB unless its operator raised it. Nothing is lost either way: the engine
reads on where it stopped.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from dorm.engine.processes import PROC, held

_MAX_SIZE: Final = Path("/proc/sys/fs/pipe-max-size")
_OUTPUTS: Final = (1, 2)


def widen(container_id: str, first: int) -> None:
    """Make the pipes of a container's output as large as the machine allows, if we may.

    Args:
        container_id: The engine's own.
        first: The machine's number of the container's first process; 0 when it has ended.
    """
    if first <= 0:
        return
    with contextlib.suppress(OSError), held(first, container_id):
        size = int(_MAX_SIZE.read_text())
        for output in _OUTPUTS:
            # A look through /proc opens the same pipe. We read nothing and close it at once.
            pipe = os.open(PROC / str(first) / "fd" / str(output), os.O_RDONLY | os.O_NONBLOCK)
            try:
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
            finally:
                os.close(pipe)
