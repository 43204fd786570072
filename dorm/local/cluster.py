"""A whole Dorm cluster on this machine: etcd, masters and agents as processes, one Docker engine.

Every node is an agent process of its own; they share the engine, and tell their containers apart
by labels.
"""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from dorm import labels
from dorm.api.client import ApiClient
from dorm.local.binaries import EtcdBinary
from dorm.local.docker_api import DockerApi
from dorm.local.etcd_process import HOST, QUOTA_BYTES, EtcdCluster, free_ports
from dorm.local.interrupts import ignored
from dorm.local.processes import Child
from dorm.warden.process import SystemWarden
from events.errors import DormError, Rejected, Unavailable

READY_S: Final = 45.0
NOBODY: Final = "nobody"  # a tenure that no agent draws
CLEAR_LOOK_S: Final = 0.1
CLEAR_LOOKS: Final = 100
# A laptop stalls for seconds, and nobody waits there for a lost node.
PATIENT: Final = ("--lease-ttl", "15", "--fence", "12")
MOUNT: Final = "ckpt"
# Whoever plays with a cluster on a laptop has a few applications and little patience.
PLAYFUL: Final = {"min_run_ms": 5_000, "gang_wait_ms": 5_000, "touch_factor": 1.0}


@attrs.frozen(kw_only=True)
class Shape:
    """How large a cluster.

    Attributes:
        cpus, memory_bytes, fake_gpus: What each node offers.
    """

    cluster: str
    etcd_members: int = 1
    masters: int = 1
    nodes: int = 3
    cpus: float = 2.0
    memory_bytes: int = 2 << 30
    fake_gpus: int = 0


class LocalCluster:
    """A running cluster. Made by `running`, which also ends it.

    Attributes:
        home: Everything it keeps: etcd's data, logs of the processes, the agents' state, and
            `ckpt`, the directory that specs mount by that name.
    """

    def __init__(self, shape: Shape, *, home: Path, docker_url: str, etcd: EtcdBinary) -> None:
        """Take what is needed; nothing is started yet."""
        self.shape, self.home = shape, home
        self.network = f"dorm-{shape.cluster}"
        self.label = f"{labels.CLUSTER}={shape.cluster}"
        self.docker = DockerApi(docker_url)
        self.masters: dict[str, Child] = {}
        self.agents: dict[str, Child] = {}
        self.checkpoints = home / MOUNT
        self._binary, self._docker_url = etcd, docker_url
        ports = free_ports(shape.masters)
        self._master_ports = {f"m{i}": port for i, port in enumerate(ports, start=1)}
        self._etcd: EtcdCluster | None = None

    @property
    def _nodes(self) -> tuple[str, ...]:
        return tuple(f"n{index}" for index in range(1, self.shape.nodes + 1))

    @property
    def endpoints(self) -> str:
        """Return etcd's endpoints, as the `--etcd` option wants them."""
        return ",".join(self._etcd.endpoints) if self._etcd else ""

    @property
    def master_urls(self) -> dict[str, str]:
        """Return the address of each master's API, by name."""
        return {name: f"http://{HOST}:{port}" for name, port in self._master_ports.items()}

    @property
    def children(self) -> tuple[Child, ...]:
        """Return all masters and agents."""
        return (*self.masters.values(), *self.agents.values())

    def client(self, *masters: str) -> ApiClient:
        """Return a client of the named masters, or of all."""
        urls = self.master_urls
        return ApiClient([urls[name] for name in masters or urls], user="local")

    def start(self) -> None:
        """Start everything and wait until all nodes are ready.

        Raises:
            Unavailable: Something did not start; the message has its last words.
        """
        self.sweep()
        asyncio.run(self._stop_wardens())  # Of a run that was killed; their files go now.
        shutil.rmtree(self.home, ignore_errors=True)
        logs = self.home / "logs"
        for directory in (self.checkpoints, logs):
            directory.mkdir(parents=True, exist_ok=True)
        self._etcd = EtcdCluster.start(
            self._binary.path, data_dir=self.home / "etcd", size=self.shape.etcd_members
        )
        self.docker.make_network(self.network, labels={labels.CLUSTER: self.shape.cluster})
        for name in self._master_ports:
            command = self._master_command(name)
            self.masters[name] = Child(name, command, log_path=logs / f"{name}.log")
        for name in self._nodes:
            command = self._agent_command(name)
            self.agents[name] = Child(name, command, log_path=logs / f"{name}.log")
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until a master leads and every node is ready.

        Raises:
            Unavailable: A process ended, or the time is up.
        """
        ends_at = time.monotonic() + READY_S
        with contextlib.closing(self.client()) as client:
            while time.monotonic() < ends_at:
                for child in self.children:
                    if not child.running:
                        raise Unavailable(f"{child.name} ended at once:\n{child.last_words()}")
                with contextlib.suppress(DormError):
                    status = client.status()
                    if status["leader"] and status["nodes"]["ready"] == self.shape.nodes:
                        client.set_policy(PLAYFUL)
                        return
                time.sleep(0.2)
        words = "\n".join(f"{child.name}: {child.last_words()}" for child in self.children)
        raise Unavailable(f"the cluster was not ready within {READY_S:.0f} s:\n{words}")

    def stop(self) -> None:
        """End everything that `start` started, and remove what it left in Docker and on disk."""
        for child in self.children:
            child.ask_to_stop()
        for child in self.children:
            child.stop()
        if self._etcd:
            self._etcd.stop()
        self.sweep()
        asyncio.run(self._stop_wardens())
        self.docker.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def sweep(self) -> None:
        """Remove containers and network of this cluster, of this run or of one that was killed."""
        asyncio.run(self._end_containers())
        self.docker.remove_containers(self.label)
        self.docker.remove_network(self.network)

    async def _end_containers(self) -> None:
        """Have wardens kill what they may have frozen: Docker cannot end a frozen container."""
        for warden in self._wardens():
            with contextlib.suppress(Rejected):  # Without wardens nothing is frozen.
                if not await warden.ensure():
                    continue
                await warden.permit(NOBODY, 0.0)
                for _ in range(CLEAR_LOOKS):
                    if await warden.empty(NOBODY):
                        break
                    await asyncio.sleep(CLEAR_LOOK_S)

    async def _stop_wardens(self) -> None:
        """End what outlives agents on purpose. With no container left, each of them agrees."""
        for warden in self._wardens():
            await warden.stop()

    def _wardens(self) -> Iterator[SystemWarden]:
        for name in self._nodes:
            run_dir = str(self._run_dir(name))
            yield SystemWarden(run_dir, cluster=self.shape.cluster, node_id=name)

    def _run_dir(self, name: str) -> Path:
        return self.home / "run" / name

    def _master_command(self, name: str) -> list[str]:
        listen = f"{HOST}:{self._master_ports[name]}"
        quota = f"{QUOTA_BYTES >> 20}MiB"
        return [
            *self._dorm("master"),
            *("--name", name, "--listen", listen, "--etcd-quota", quota),
        ]

    def _agent_command(self, name: str) -> list[str]:
        shape = self.shape
        state_dir = self.home / "agents" / name
        run_dir = self._run_dir(name)
        return [
            *self._dorm("agent"),
            *("--node", name, "--listen", f"{HOST}:0", "--state-dir", str(state_dir)),
            *("--run-dir", str(run_dir)),
            *PATIENT,
            *("--cpus", f"{shape.cpus:g}", "--memory", f"{shape.memory_bytes >> 20}MiB"),
            *("--fake-gpus", str(shape.fake_gpus), "--network", self.network),
            *("--mount", f"{MOUNT}={self.checkpoints}"),
            *(("--docker", self._docker_url) if self._docker_url else ()),
        ]

    def _dorm(self, command: str) -> list[str]:
        cluster = ("--cluster", self.shape.cluster, "--etcd", self.endpoints)
        return [sys.executable, "-m", "dorm", command, *cluster]


@contextlib.contextmanager
def running(
    shape: Shape, *, home: Path, docker_url: str, etcd: EtcdBinary
) -> Iterator[LocalCluster]:
    """Yield a running cluster and end it afterwards, whatever happens.

    Raises:
        Unavailable: It did not start.
    """
    cluster = LocalCluster(shape, home=home, docker_url=docker_url, etcd=etcd)
    try:
        cluster.start()
        yield cluster
    finally:
        with ignored():  # a second Ctrl-C would leave half of it running
            cluster.stop()
