"""Who in a container gets a signal: those who handle it, not the shells around them.

Docker's init hands a signal to its one child, and ends with it. Where that child is a shell, as in
`sh -c "cd /src; python train.py"`, the shell dies of the signal, init ends, and with init the
kernel kills the training, whose checkpoint is lost. A whole process group would be signalled no
better: the shell dies all the same, a `tee` behind the training dies too, and the workers of
a launcher, who get the signal from their launcher, get it twice.

So the agent looks from init downwards, through shells that do not trap the signal, and gives it
to the first in each branch who handles it. What is below those is theirs. Users' images need
nothing for this, and the process in the container needs no rights.
"""

import contextlib
import signal as signals
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from dorm.engine.processes import PROC, Process, children, held, read

_INITS: Final = frozenset({"init", "docker-init", "tini", "tini-static", "dumb-init", "catatonit"})
_WRAPPERS: Final = _INITS | {"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "time"}
"""Programs that wait for another one and have nothing of their own to save. An init of the image
takes every signal, but only to pass it on to its child, so it is looked through as Docker's is."""


def deliver(container_id: str, first: int, name: str) -> bool:
    """Signal those who handle it; return whether there was anyone.

    False, too, where the agent may not: on another machine than the engine, or without the rights.
    The signal is then left to the engine and its init.

    Args:
        container_id: The engine's own, which stands in the cgroup of its processes.
        first: The machine's number of the container's first process; 0 while it does not run.
        name: Such as `SIGTERM`.
    """
    number = signals.Signals.__members__.get(name)
    if number is None or first <= 0:
        return False
    reached = False
    with contextlib.suppress(OSError), held(first, container_id):
        for pid in receivers(first, number):
            with contextlib.suppress(ProcessLookupError), held(pid, container_id) as process:
                signals.pidfd_send_signal(process, number)
                reached = True
    return reached


def receivers(first: int, signal: int, *, proc: Path = PROC) -> tuple[int, ...]:
    """Return who is to get the signal; nobody when no process handles it."""
    tree = children(proc)
    return tuple(one.pid for one in _first_below(first, signal, tree, proc))


def _first_below(
    parent: int, signal: int, tree: Mapping[int, Sequence[int]], proc: Path
) -> Iterator[Process]:
    for pid in tree.get(parent, ()):
        process = read(pid, proc)
        if process is None:
            continue
        if process.handles(signal) and process.program not in _INITS:
            yield process
        elif process.program in _WRAPPERS:
            yield from _first_below(pid, signal, tree, proc)
