"""A node for the tests: its cgroups, its warden, and processes that count."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from dorm import cgroups
from dorm.warden import groups, journal, machine, mounts, status
from dorm.warden.groups import Kernel
from dorm.warden.paths import RunPaths
from dorm.warden.process import SystemWarden
from dorm.warden.status import Status
from dorm.warden.tree import Tree
from events.errors import Rejected

NODE_ID = "rack-1"
SECONDS = 10.0
SETTLED_S = 0.6  # two looks of a warden, and some

MOUNTS = [
    Path("/sys/fs/cgroup"),
    Path("/sys/fs/cgroup/freezer"),
    Path("/sys/fs/cgroup/unified"),
]
"""Where they usually are. A machine has one, or the two versions beside each other."""

AGENT = """
import asyncio, sys
from dorm.warden import machine
from dorm.warden.process import SystemWarden

async def main():
    warden = SystemWarden(sys.argv[1], cluster=sys.argv[2], node_id=sys.argv[3],
                          hierarchy=sys.argv[4])
    while True:
        assert await warden.ensure()
        await warden.permit("t1", machine.now_s() + 1.0)
        await asyncio.sleep(0.2)

asyncio.run(main())
"""
"""What an agent does for its permit, as a process that a test may kill or stop."""


WARDEN = """
import os, sys
from dorm.warden.__main__ import main

try:
    main(["--help"])  # What argparse imports late is imported now.
except SystemExit:
    os.setuid(int(sys.argv[1]))
sys.exit(main(sys.argv[2:]))
"""
"""A warden that changes its user after its imports, which may lie where only root may read."""


class Counter:
    """A process, with children, that writes one byte after the other."""

    def __init__(self, path: Path, group: Path) -> None:
        """Start it in a group."""
        self.path, self.group = path, group
        self.path.touch()
        self.process = subprocess.Popen(
            ["sh", "-c", 'read go; while :; do printf x >> "$0"; sleep 0.01; done', str(path)],
            stdin=subprocess.PIPE,
        )
        groups.join(group, self.process.pid)
        assert self.process.stdin is not None
        self.process.stdin.close()

    @property
    def count(self) -> int:
        """Return how many steps it has made."""
        return self.path.stat().st_size

    @property
    def is_dead(self) -> bool:
        """Return whether SIGKILL has ended it."""
        return self.process.poll() == -signal.SIGKILL

    async def stands(self) -> bool:
        """Return whether it makes no step."""
        before = self.count
        await asyncio.sleep(0.3)
        return self.count == before

    async def steps(self) -> None:
        """Wait until it makes a step."""
        before = self.count
        await until(lambda: self.count > before)


class Node:
    """One node, with a cluster's name of its own, which leaves nothing behind."""

    def __init__(self, hierarchy: Path, directory: Path, *, cluster: str = "") -> None:
        self.hierarchy, self.directory = hierarchy, directory
        self.cluster = cluster or f"test-{uuid4().hex[:12]}"
        self.cgroup = cgroups.of_node(self.cluster, NODE_ID)
        self.run_dir = directory / "run"
        self.paths = RunPaths(self.run_dir)
        self.warden = self.another_agents()
        self.tree = Tree(mounts.find(hierarchy), self.cgroup)
        self._counters: list[Counter] = []
        self._agents: list[subprocess.Popen[bytes]] = []

    def another_agents(self) -> SystemWarden:
        """Return the warden as the next agent of this node has it."""
        return SystemWarden(
            str(self.run_dir),
            cluster=self.cluster,
            node_id=NODE_ID,
            hierarchy=str(self.hierarchy),
        )

    def group(self, tenure: str = "t1", kind: str = "stop") -> Path:
        """Return a group, made if need be."""
        parent = cgroups.of_containers(self.cluster, NODE_ID, tenure, kind)
        path = self.hierarchy / parent.lstrip("/")
        path.mkdir(parents=True, exist_ok=True)
        return path

    def counter(self, tenure: str = "t1", kind: str = "stop") -> Counter:
        """Start a counting process in a group."""
        path = self.directory / f"count-{len(self._counters)}"
        counter = Counter(path, self.group(tenure, kind))
        self._counters.append(counter)
        return counter

    async def permit(self, for_s: float, tenure: str = "t1") -> float:
        """Give the node a right from now on; returns its deadline."""
        deadline_s = machine.now_s() + for_s
        await self.warden.permit(tenure, deadline_s)
        return deadline_s

    def status(self) -> Status:
        """Return what the warden saw at its last look."""
        found = status.read(self.paths.status)
        assert found is not None
        return found

    def state(self, tenure: str = "t1", kind: str = "stop") -> str:
        """Return what the warden says of a group; nothing when it says nothing."""
        found = status.read(self.paths.status)
        groups = found.groups if found else ()
        states = {(one.tenure, one.on_disconnect): one.state for one in groups}
        return states.get((tenure, kind), "")

    def did(self) -> list[str]:
        """Return what the wardens of this node did, oldest first."""
        return [deed.did for deed in journal.read(self.paths.journal)]

    def agent(self) -> subprocess.Popen[bytes]:
        """Start what renews the permit for a second, five times a second."""
        arguments = (str(self.run_dir), self.cluster, NODE_ID, str(self.hierarchy))
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, *arguments],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._agents.append(agent)
        return agent

    def another_warden(self, *, user: int = 0) -> subprocess.CompletedProcess[str]:
        """Run one more warden, to its end."""
        return subprocess.run(
            [sys.executable, "-c", WARDEN, str(user), *self.warden._arguments()],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    def clean_up(self) -> None:
        """End all that was started, and remove all that was made."""
        for agent in self._agents:
            agent.kill()
            agent.wait()
        holder = self.warden._holder()
        if holder:
            os.kill(holder[0], signal.SIGKILL)
            ends_at = time.monotonic() + SECONDS
            while self.warden._is_held() and time.monotonic() < ends_at:
                time.sleep(0.02)
        if not self.warden._reap() and self.warden._child is not None:
            os.kill(self.warden._child, signal.SIGKILL)  # one that was still on its way up
            os.waitpid(self.warden._child, 0)
        for group in self.tree.groups():
            self.tree.kill(group.tenure, group.on_disconnect)
        for counter in self._counters:
            counter.process.kill()
            groups.join(self.hierarchy, counter.process.pid)
            counter.process.wait(SECONDS)
        ends_at = time.monotonic() + SECONDS
        while self.tree.is_populated() and time.monotonic() < ends_at:
            time.sleep(0.02)
        self.tree.remove()
        assert not (self.hierarchy / "dorm" / self.cluster).exists()


async def until(holds: Callable[[], bool], *, within_s: float = SECONDS) -> None:
    """Wait until something holds, and fail if it does not."""
    ends_at = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < ends_at
        await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return whether a process is there and not only waits to be taken note of."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return line.rpartition(")")[2].split()[0] not in {"Z", "X"}


def hierarchies() -> list[Kernel]:
    """Return each version of cgroups that this machine can freeze by."""
    kernels = []
    for path in MOUNTS:
        with contextlib.suppress(Rejected):
            kernels.append(mounts.find(path).guarded)
    return kernels
