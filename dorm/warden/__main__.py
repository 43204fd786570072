"""The warden as a process: `python -m dorm.warden --run-dir DIR --cgroup /dorm/CLUSTER/NODE`.

It is hard to end on purpose. SIGHUP and SIGINT are ignored. SIGTERM ends it when nothing is left to
guard, and removes its groups then; while something is, only when the file `warden.leave` lies in
the run directory, and then its groups stay as they are. It ends by itself when there is nothing to
guard and no agent has renewed a permit for a minute; its groups stay then, empty and frozen. And
when its run directory is removed, with every group frozen: nobody can speak to it any more.

Exit codes: 0 ended as asked or idle, 2 cannot guard anything here, 3 another warden does.
"""

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dorm.warden import machine, mounts
from dorm.warden.journal import Journal
from dorm.warden.paths import RunPaths
from dorm.warden.tree import Tree
from dorm.warden.watch import Watch
from events.errors import Conflict, Rejected

EXIT_OK: Final = 0
EXIT_CANNOT: Final = 2
EXIT_ANOTHER: Final = 3

_LOCK_S: Final = 1.0
_WHO_BYTES_MAX: Final = 256
_NICENESS: Final = -10
_OOM_NEVER: Final = "-1000"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until there is a reason to end; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dorm.warden")
    parser.add_argument("--run-dir", type=Path, required=True, help="shared with the agent")
    parser.add_argument("--cgroup", required=True, help="the node's: /dorm/CLUSTER/NODE")
    parser.add_argument("--hierarchy", type=Path, help="mount of the cgroups to guard, if not ours")
    parser.add_argument(
        "--idle-s",
        type=float,
        default=60.0,
        help="end after so many seconds without anything to guard or a renewed permit",
    )
    options = parser.parse_args(arguments)
    paths = RunPaths(options.run_dir.absolute())
    os.chdir("/")  # Whatever directory the agent runs in may be unmounted.
    _harden()
    try:
        tree = Tree(mounts.find(options.hierarchy), options.cgroup)
        tree.check()
        with _alone(paths.lock, tree.base) as lock:
            _guard(paths, tree, lock, idle_s=options.idle_s)
    except Conflict as error:
        return _refuse(error, EXIT_ANOTHER)
    except Rejected as error:
        return _refuse(error, EXIT_CANNOT)
    except OSError as error:
        return _refuse(error, EXIT_CANNOT)
    return EXIT_OK


def _guard(paths: RunPaths, tree: Tree, lock: int, *, idle_s: float) -> None:
    journal = Journal(paths.journal)
    watch = Watch(paths, tree, journal)
    why = ""
    with contextlib.suppress(OSError):
        journal.note("began")
    while not why:  # Ends as the module says.
        wait_s = watch.look()
        if signal.sigtimedwait({signal.SIGTERM}, wait_s) is not None:
            why = _asked_to_end(paths, tree, watch)
        elif watch.is_idle(idle_s):
            watch.close_up()
            why = "idle"
        elif not _is_at(lock, paths.lock):
            watch.close_up()  # No agent can reach us any more, and the next one's warden waits.
            why = "its run directory is gone"
    with contextlib.suppress(OSError):
        journal.note("ended", why=why)


def _asked_to_end(paths: RunPaths, tree: Tree, watch: Watch) -> str:
    """Return why a SIGTERM ends us; nothing when it does not."""
    if not watch.is_populated():
        tree.remove()
        return "asked, with nothing left to guard"
    if paths.leave.exists():
        paths.leave.unlink()
        return "asked to leave the containers as they are"
    sys.stderr.write("dorm warden: SIGTERM ignored: there are containers to guard\n")
    sys.stderr.flush()
    return ""


def _harden() -> None:
    """Outlive the agent, its terminal and a lack of memory; keep a turn on a busy machine."""
    for ignored in (signal.SIGHUP, signal.SIGINT):
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # `sigtimedwait` takes it.
    with contextlib.suppress(PermissionError):  # The leader of a group of processes, in a shell.
        os.setsid()
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_NEVER)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)


def _is_at(number: int, path: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(number), path.lstat())
    except OSError:
        return False


@contextlib.contextmanager
def _alone(path: Path, group: Path) -> Iterator[int]:
    """Hold the run directory's lock, with who we are in it, and the node's group itself.

    Raises:
        Conflict: Another warden holds one of them.
    """
    with contextlib.ExitStack() as held:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        held.callback(os.close, lock)
        if not _taken(lock):
            who = os.pread(lock, _WHO_BYTES_MAX, 0).decode(errors="replace")
            raise Conflict(
                "is guarded by another warden",
                field="--run-dir",
                value=str(path.parent),
                hint=f"it says of itself: {who or 'nothing'}",
            )
        directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        held.callback(os.close, directory)
        if not _taken(directory):  # Two would kill what belongs to each other's tenure.
            raise Conflict(
                "is guarded by another warden, of another run directory",
                field="--cgroup",
                value=str(group),
                hint="give each node of this machine a name of its own",
            )
        pid = os.getpid()
        ours = json.dumps({"pid": pid, "start_ticks": machine.start_ticks(pid)})
        os.ftruncate(lock, 0)
        os.pwrite(lock, ours.encode(), 0)
        yield lock


def _taken(number: int) -> bool:
    """Return whether we hold it now: whoever asks if it is held, holds it for an instant."""
    until = time.monotonic() + _LOCK_S
    while time.monotonic() < until:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


def _refuse(error: Exception, code: int) -> int:
    sys.stderr.write(f"dorm warden: {error}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
