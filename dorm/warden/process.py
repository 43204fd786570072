"""The warden's process, from the agent's side: started, checked, replaced, never found by name."""

import asyncio
import contextlib
import fcntl
import json
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import structlog

import dorm
from dorm import cgroups
from dorm.warden import journal, machine, mounts, permits, status
from dorm.warden.journal import Deed
from dorm.warden.paths import RunPaths
from dorm.warden.tree import Tree
from events.errors import Rejected, Unavailable
from reconcilers.warden import Permit

_log = structlog.get_logger()

ALIVE_S: Final = 2.0
START_S: Final = 5.0  # a machine may be busy
_SECOND_LOOK_S: Final = 0.3
_LOOK_S: Final = 0.02
_WORDS_LENGTH_MAX: Final = 2_000


class SystemWarden:
    """See `dorm.ports.Warden`. One for each node, in its agent.

    A warden is alive when it holds the lock and looked a moment ago. One that holds the lock and
    does not look hangs: it is killed by the process id that it left in the lock, if the process of
    that id started when the lock says.

    Attributes:
        run_dir: Shared with the warden; made for root only.
    """

    def __init__(
        self, run_dir: str, *, cluster: str, node_id: str, hierarchy: str | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            run_dir: A directory on a tmpfs, one for each node.
            cluster: Of the node.
            node_id: The node's name.
            hierarchy: The mount of the cgroups to guard, if not the one that would be found.
        """
        self.run_dir = Path(run_dir)
        self._paths = RunPaths(self.run_dir)
        self._node = cgroups.of_node(cluster, node_id)
        self._hierarchy = Path(hierarchy) if hierarchy else None
        self._found: Tree | None = None
        self._ensuring = asyncio.Lock()
        self._child: int | None = None

    async def ensure(self) -> bool:
        """See `Warden`."""
        async with self._ensuring:
            self._tree()  # Refuses where nothing could be guarded.
            self._reap()
            if self._is_alive():
                return True
            if self._is_held():
                await asyncio.sleep(_SECOND_LOOK_S)  # Perhaps the whole machine had stood still.
                if self._is_alive():
                    return True
                self._kill_holder()
            try:
                self._start()
            except OSError as error:
                _log.error("warden.not_started", reason=str(error))
                return False
            return await self._comes_alive()

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """See `Warden`.

        Written here and now, in no thread: it is a tmpfs, and other work of the agent's threads,
        such as on a slow disk, must not delay what keeps containers running.
        """
        if not permits.TENURE.fullmatch(tenure) or not math.isfinite(deadline_s):
            raise ValueError(f"no permit can say {tenure!r} until {deadline_s}")
        try:
            self._make_run_dir()
            permits.write(self._paths.permit, Permit(tenure=tenure, deadline_s=deadline_s))
        except OSError as error:
            raise Unavailable(f"the permit cannot be written: {error}") from error

    async def permitted(self) -> Permit | None:
        """See `Warden`."""
        return permits.read(self._paths.permit)

    async def empty(self, tenure: str) -> bool:
        """See `Warden`."""
        try:
            return self._tree().has_only(tenure)
        except OSError as error:
            raise Unavailable(f"the node's cgroups cannot be read: {error}") from error

    async def deeds(self, after: int) -> tuple[Deed, ...]:
        """See `Warden`."""
        return journal.read(self._paths.journal, after=after)

    async def stop(self, *, leave: bool = False, within_s: float = START_S) -> bool:
        """End the warden and remove the node's groups; return whether it has ended.

        It refuses while containers are there to guard, unless it is to leave them as they are.
        """
        try:
            tree = self._tree()
        except Rejected:
            return True  # Where none can guard, none of ours does.
        holder = self._holder()
        if holder is not None:
            if leave:
                machine.replace(self._paths.leave, b"")
            with _process(*holder) as process:
                if process is not None:
                    signal.pidfd_send_signal(process, signal.SIGTERM)
        for _ in range(int(within_s / _LOOK_S)):
            if not self._is_held():
                break
            await asyncio.sleep(_LOOK_S)
        else:
            return False
        self._reap()
        if not leave:
            tree.remove()  # One that ended by itself left them.
        return True

    def _tree(self) -> Tree:
        if self._found is None:
            found = Tree(mounts.find(self._hierarchy), self._node)
            try:
                found.check()
            except OSError as error:
                raise Rejected(
                    f"cannot be made: {error}", field="cgroup", value=self._node
                ) from error
            self._found = found
        return self._found

    def _is_alive(self) -> bool:
        seen, holder = status.read(self._paths.status), self._holder()
        return (
            seen is not None
            and holder is not None
            # It is the holder, and not one before it whose status is still fresh.
            and machine.start_ticks(seen.pid) == holder[1]
            and seen.version == status.VERSION
            and 0 <= machine.now_s() - seen.alive_s < ALIVE_S
        )

    def _is_held(self) -> bool:
        """Return whether some process holds the lock."""
        try:
            number = os.open(self._paths.lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(number)
        return False

    def _holder(self) -> tuple[int, int] | None:
        """Return process id and start of who holds the lock; None when nobody does."""
        if not self._is_held():
            return None
        try:
            row = json.loads(machine.read_own(self._paths.lock) or b"")
            return int(row["pid"]), int(row["start_ticks"])
        except (ValueError, TypeError, KeyError):
            return None

    def _kill_holder(self) -> None:
        holder = self._holder()
        if holder is None:
            return
        with _process(*holder) as process:
            if process is not None:
                _log.warning("warden.hangs", pid=holder[0], reason="it is killed and replaced")
                signal.pidfd_send_signal(process, signal.SIGKILL)

    def _start(self) -> None:
        self._make_run_dir()
        self._paths.leave.unlink(missing_ok=True)  # It was meant for a warden before.
        words = self._last_words()
        if words:
            _log.warning("warden.said", words=words)
        self._child = os.posix_spawn(
            sys.executable,
            # -P: nothing that lies in the agent's working directory becomes a module of root's.
            [sys.executable, "-P", "-m", "dorm.warden", *self._arguments()],
            {**os.environ, "PYTHONPATH": _python_path()},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (
                    os.POSIX_SPAWN_OPEN,
                    1,
                    str(self._paths.output),
                    os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
                    0o600,
                ),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,  # Ctrl-C, and the end of the agent's session, are not for it.
            setsigmask=(),
            setsigdef=[signal.SIGPIPE, signal.SIGTERM],
        )
        _log.info("warden.started", pid=self._child)

    def _arguments(self) -> Sequence[str]:
        chosen = ("--hierarchy", str(self._hierarchy)) if self._hierarchy else ()
        return ("--run-dir", str(self.run_dir.absolute()), "--cgroup", self._node, *chosen)

    async def _comes_alive(self) -> bool:
        for _ in range(int(START_S / _LOOK_S)):
            if self._is_alive():
                return True
            if self._reap():
                _log.error("warden.ended", reason=self._last_words() or "it said nothing")
                return False
            await asyncio.sleep(_LOOK_S)
        _log.error("warden.silent", reason=f"it was started and did not look within {START_S:g} s")
        return False

    def _last_words(self) -> str:
        """Return the end of what the last warden printed."""
        said = (machine.read_own(self._paths.output) or b"").decode(errors="replace")
        return said.strip()[-_WORDS_LENGTH_MAX:]

    def _reap(self) -> bool:
        """Return whether the child that we started, if any, has ended."""
        if self._child is None:
            return False
        try:
            ended, _ = os.waitpid(self._child, os.WNOHANG)
        except ChildProcessError:
            ended = self._child
        if ended:
            self._child = None
        return bool(ended)

    def _make_run_dir(self) -> None:
        self.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)


def _python_path() -> str:
    """Return where the warden finds the same packages as we, wherever it is started."""
    ours, given = str(Path(dorm.__file__).parents[1]), os.environ.get("PYTHONPATH")
    return os.pathsep.join([ours, given] if given else [ours])


@contextlib.contextmanager
def _process(pid: int, start_ticks: int) -> Iterator[int | None]:
    """Yield a handle of exactly that process, or None when it is gone."""
    handle: int | None = None
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
    try:
        # The handle is of whoever had the id when it was made; the start tells who that is.
        same = handle is not None and machine.start_ticks(pid) == start_ticks
        yield handle if same else None
    finally:
        if handle is not None:
            os.close(handle)
