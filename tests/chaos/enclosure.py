"""The room in which a run happens: processes, mounts and network of its own.

Everything that a run starts lives in one PID namespace. However the run ends, the kernel then ends
all of it, containers included; and a run can only ever signal what it started itself. The network
namespace around it has no way out. What the kernel does not remove is swept by the next run: the
directory and the (empty) cgroups of a run whose lock nobody holds.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from dorm.local.interrupts import EXIT_INTERRUPTED, as_keyboard_interrupt
from dorm.local.places import local_dir

TOOLS: Final = ("dockerd", "ip", "iptables", "mount", "nsenter", "setpriv", "unshare")
INITS: Final = ("docker-init", "tini", "tini-static")
SBIN: Final = "/usr/local/sbin:/usr/sbin:/sbin"
PREFIX: Final = "chaos-"
PROBE_S: Final = 20.0
LEAVE_S: Final = 60.0
_ROOM: Final = ("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_PROBE: Final = (
    "mount -t tmpfs tmpfs /run && ip netns add host0 && ip link add bridge0 type bridge"
    " && ip link add veth0 type veth peer name eth0 netns host0"
    " && nsenter --net=/run/netns/host0 iptables -w -A INPUT -i eth0 -j DROP"
)


def missing() -> str:
    """Return why no run is possible on this machine; empty where one is."""
    if os.geteuid() != 0:
        return "network namespaces and a Docker engine need root"
    path = _path()
    absent = [tool for tool in TOOLS if not shutil.which(tool, path=path)]
    if absent:
        return f"these programs are missing: {', '.join(absent)}"
    if not _init():
        return f"one of these programs is needed: {', '.join(INITS)}"
    probe = subprocess.run(
        [*_ROOM, "sh", "-c", _PROBE],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=PROBE_S,
        check=False,
    )
    return f"no namespaces: {probe.stderr.strip()}" if probe.returncode else ""


@contextlib.contextmanager
def home() -> Iterator[Path]:
    """Yield the directory of a new run; its name is that of the run's Dorm cluster.

    What runs that were killed have left behind is removed first, and this one's things at the end.
    """
    runs = local_dir() / "chaos"
    runs.mkdir(exist_ok=True)
    for old in sorted(runs.glob(f"{PREFIX}*")):
        _sweep(old)
    path = runs / f"{PREFIX}{uuid4().hex[:8]}"
    path.mkdir()
    with (path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield path
        finally:
            _remove(path)


def enter(module: str, arguments: Sequence[str]) -> int:
    """Run a module of this checkout inside a new room, and return its exit code."""
    command = [
        *("setpriv", "--pdeathsig", "KILL"),  # a run must not outlive the one who wanted it
        *_ROOM,
        *(_init(), "--", sys.executable, "-m", module, *arguments),
    ]
    with as_keyboard_interrupt():
        process = subprocess.Popen(command, env=_environment(), cwd=Path(__file__).parents[2])
        try:
            return process.wait()
        except KeyboardInterrupt:  # The room heard it too, where it came from a terminal.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE_S)
            process.kill()
            process.wait()
            return EXIT_INTERRUPTED


def furnish() -> None:
    """Make `/run` private. Called once, inside a new room: sockets and namespaces lie there."""
    assert os.getpid() < 100, "this mounts, so only inside a room of its own"
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def _init() -> str:
    """Return a program that reaps: daemons that a killed engine leaves have no other parent."""
    found = (shutil.which(name, path=_path()) for name in INITS)
    return next((path for path in found if path), "")


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:{SBIN}"


def _environment() -> dict[str, str]:
    hidden = {"DOCKER_HOST", "DORM_ETCD", "DORM_MASTER"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PATH": _path()}


def _sweep(path: Path) -> None:
    """Remove what a run left, unless it goes on."""
    try:
        with (path / "lock").open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    except FileNotFoundError:  # It was just made, or just goes.
        return
    _remove(path)


def _remove(path: Path) -> None:
    for controller in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")):
        for top in (controller / path.name, controller / "dorm" / path.name):
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):  # It is gone, or still dying.
                    Path(folder).rmdir()
    shutil.rmtree(path, ignore_errors=True)
