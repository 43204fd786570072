"""The Docker engine: the one that answers, or a private one that we start and stop.

A private engine keeps its images below `.local/docker`, and its sockets in a short directory of
/run, because a socket's path may have only 107 characters and checkouts lie deep.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from dorm.engine.processes import children
from dorm.local.commands import is_root, run
from dorm.local.docker_api import DockerApi
from dorm.local.interrupts import as_keyboard_interrupt, ignored
from dorm.local.places import local_dir
from events.errors import Unavailable

HOW_TO_GET_DOCKER: Final = (
    "Dorm runs applications in Docker containers, and no Docker engine answers. Install and start "
    "one (Debian, Ubuntu: `apt-get install docker.io` as root; others: your system's package, or "
    "Docker Desktop), or name one that runs: DOCKER_HOST=unix:///path/to/docker.sock"
)
NOT_ALLOWED: Final = (
    "Docker is installed, but this user may not use it. As root: `adduser USER docker`, and log in "
    "again; or run this as root"
)
_SOCKET: Final = Path("/var/run/docker.sock")
_READY_S: Final = 40.0
_STOP_S: Final = 30.0
_INSTALL_S: Final = 600.0
_LAST_WORDS: Final = 5

Say = Callable[[str], None]


@attrs.frozen(kw_only=True)
class Engine:
    """A Docker engine that answers. `url` is empty for Docker's own default."""

    url: str
    version: str
    private: bool = False


def answering() -> Engine | None:
    """Return the engine that DOCKER_HOST names, or the default one, if it answers."""
    return _ask(os.environ.get("DOCKER_HOST", ""))


def install_engine(*, say: Say) -> None:
    """Install Debian's engine when there is none and we may; say what is missing otherwise."""
    if answering() or shutil.which("dockerd") or _is_forbidden():
        return
    if not (is_root() and shutil.which("apt-get")):
        say(HOW_TO_GET_DOCKER)
        return
    say("installing the Docker engine with apt (docker.io, about a minute)")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    # Docker only recommends apparmor, and starts no container without it where the kernel has it.
    packages = ["docker.io", "iptables", "apparmor", "ca-certificates"]
    install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *packages]
    try:
        run(["apt-get", "-qq", "update"], timeout_s=_INSTALL_S)
        run(install, timeout_s=_INSTALL_S, env=quiet)
    except Unavailable as error:
        say(f"that did not work: {error}\n{HOW_TO_GET_DOCKER}")


@contextlib.contextmanager
def engine(*, say: Say = lambda _: None) -> Iterator[Engine]:
    """Yield an engine that answers; one that was started for this stops when its last user leaves.

    Raises:
        Unavailable: There is none and none can be started; the message says how to get one.
    """
    found = answering() or _system_service(say)
    if found:
        yield found
        return
    if os.environ.get("DOCKER_HOST"):
        raise Unavailable(f"no Docker engine answers at DOCKER_HOST={os.environ['DOCKER_HOST']}")
    if not (is_root() and shutil.which("dockerd")):
        raise Unavailable(NOT_ALLOWED if _is_forbidden() else HOW_TO_GET_DOCKER)
    home = PrivateEngine.of(local_dir() / "docker")
    with as_keyboard_interrupt(), home.in_use():  # or a SIGTERM would leave it running
        yield home.start(say)


@attrs.frozen(kw_only=True)
class PrivateEngine:
    """A dockerd of our own. Several of our processes may use it at once.

    Attributes:
        flags: Its own, beside where it keeps things. As in production, containers outlive
            a restart of the engine.
    """

    home: Path
    run_dir: Path
    flags: tuple[str, ...] = ("--live-restore",)

    @classmethod
    def of(cls, home: Path) -> "PrivateEngine":
        """Return the engine that keeps its data in `home`."""
        home.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(os.fspath(home.resolve()).encode()).hexdigest()[:8]
        return cls(home=home.resolve(), run_dir=Path("/run") / f"dorm-{name}")

    @property
    def url(self) -> str:
        """Return the address of its socket."""
        return f"unix://{self.run_dir / 'docker.sock'}"

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the engine; whoever lets go last stops it."""
        with (self.home / "users").open("w") as users:
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                yield
            finally:
                # It is refused while another process still uses the engine.
                with ignored(), contextlib.suppress(BlockingIOError):
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.stop()

    def start(self, say: Say) -> Engine:
        """Start it unless it runs, and wait until it answers.

        Raises:
            Unavailable: It ended or did not answer in time; the message has its last words.
        """
        with (self.home / "starting").open("w") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            return self._asked() or self._started(say)

    def stop(self) -> None:
        """End its containers, which would outlive it, and stop it, by the pid that it wrote."""
        pid = self.pid()
        if pid is not None:
            with contextlib.suppress(Unavailable), contextlib.closing(DockerApi(self.url)) as api:
                api.kill_containers()
            _end(pid)
        self._end_what_is_left()
        self._unmount_what_is_left()
        shutil.rmtree(self.run_dir, ignore_errors=True)

    def _unmount_what_is_left(self) -> None:
        """Unmount what an engine that was killed had mounted, and the one after it did not undo."""
        lines = Path("/proc/self/mounts").read_text().splitlines()
        mounted = [Path(line.split()[1]) for line in lines]
        places = (self.run_dir, self.home / "data")
        ours = [path for path in mounted if any(path.is_relative_to(place) for place in places)]
        for path in sorted(ours, reverse=True):  # what is inside another one first
            with contextlib.suppress(Unavailable):
                run(["umount", "--lazy", os.fspath(path)], timeout_s=_STOP_S)

    def _end_what_is_left(self) -> None:
        """End the containers of an engine that was killed, and the helper that each of them has."""
        mark, tree = os.fsencode(self.run_dir / "exec"), children()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if mark in (entry / "cmdline").read_bytes():
                    helper = int(entry.name)
                    for process in (*tree.get(helper, ()), helper):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(process, signal.SIGKILL)

    def pid(self) -> int | None:
        """Return the process id while it runs. A pid that another program has now is not it."""
        try:
            pid = int((self.run_dir / "docker.pid").read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self.home) in command else None

    def _asked(self) -> Engine | None:
        found = _ask(self.url) if self.pid() is not None else None
        return attrs.evolve(found, private=True) if found else None

    def _started(self, say: Say) -> Engine:
        say("starting a private Docker engine; it is stopped at the end")
        self.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (hung := self.pid()) is not None:
            _end(hung)
        # The number of a killed one may be another program's now, which would stand in the way.
        (self.run_dir / "docker.pid").unlink(missing_ok=True)
        log_path = self.home / "dockerd.log"
        pid = _spawn(
            [
                shutil.which("dockerd") or "dockerd",
                f"--host={self.url}",
                f"--data-root={self.home / 'data'}",
                f"--exec-root={self.run_dir / 'exec'}",
                f"--pidfile={self.run_dir / 'docker.pid'}",
                "--bridge=none",  # docker0 may belong to another engine of this machine
                *self.flags,
            ],
            log_path,
        )
        ends_at = time.monotonic() + _READY_S
        while not (ended := _has_ended(pid)) and time.monotonic() < ends_at:
            found = self._asked()
            if found:
                return found
            time.sleep(0.2)
        if not ended:
            _end(pid)
        words = "\n".join(log_path.read_text(errors="replace").splitlines()[-_LAST_WORDS:])
        raise Unavailable(f"the Docker engine did not start; its last words:\n{words}")


def _ask(url: str) -> Engine | None:
    try:
        api = DockerApi(url)
    except Unavailable:
        return None
    with contextlib.closing(api):
        try:
            return Engine(url=url, version=api.version())
        except Unavailable:
            return None


def _is_forbidden() -> bool:
    """Return whether Docker's own socket is there, but not for this user."""
    named = os.environ.get("DOCKER_HOST")
    return not named and _SOCKET.exists() and not os.access(_SOCKET, os.W_OK)


def _system_service(say: Say) -> Engine | None:
    """Start the system's own engine where systemd looks after it. It is not ours to stop."""
    if not (Path("/run/systemd/system").is_dir() and is_root() and shutil.which("dockerd")):
        return None
    say("starting the system's Docker engine")
    try:
        run(["systemctl", "start", "docker"], timeout_s=_READY_S)
    except Unavailable as error:
        say(f"that did not work: {error}")
    return answering()


def _spawn(command: list[str], log_path: Path) -> int:
    """Start a daemon and return its pid. It may outlive us, which a Popen would complain about."""
    to_log = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.fspath(log_path), to_log, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,  # Ctrl-C is for us: containers are removed first
        setsigdef=[signal.SIGPIPE],  # Python ignores it, and containers would inherit that
    )


def _has_ended(pid: int) -> bool:
    """Return whether a child of ours has ended. Of another process's child we learn nothing."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return False


def _end(pid: int) -> None:
    """End a process: ask, wait, then force."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        ends_at = time.monotonic() + _STOP_S
        while time.monotonic() < ends_at:
            if _has_ended(pid):
                return
            os.kill(pid, 0)
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
