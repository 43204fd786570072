"""The processes of the cluster, each on its host: started, killed, frozen and started again."""

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import docker

from dorm import labels
from dorm.api.client import ApiClient
from dorm.local.cluster import PLAYFUL
from dorm.local.docker_api import DockerApi
from dorm.local.etcd_process import _FLAGS as ETCD_FLAGS
from dorm.local.processes import Child
from dorm.warden.paths import RunPaths
from events.errors import DormError, Unavailable
from tests.chaos.network import Network
from tests.chaos.record import RECORD, WITNESS

MEMBERS: Final = ("e1", "e2", "e3")
MASTERS: Final = ("m1", "m2", "m3")
NODES: Final = ("n1", "n2", "n3", "n4")
ENGINE: Final = "engine"
NODE_CPUS: Final = 1.0
NODE_MEMORY: Final = 1 << 30
READY_S: Final = 60.0
SEGMENT_EVENTS: Final = 300  # so that a short run sees the log roll over
API_PORT: Final = 7070


class Programs:
    """All processes of a run, by the name of their host; `engine` is the Docker engine.

    Attributes:
        children: Those that are meant to run, and those that a fault has ended for a while.
        folder: Everything that the processes keep, their output in `logs`.
    """

    def __init__(self, network: Network, *, folder: Path, cluster: str, etcd: Path) -> None:
        """Take what is needed; nothing is started yet."""
        self.children: dict[str, Child] = {}
        self.folder, self.cluster = folder, cluster
        self.label = f"{labels.CLUSTER}={cluster}"
        self.docker_url = f"unix:///run/{cluster}/docker.sock"
        self._network, self._etcd = network, etcd
        for name in ("logs", "ckpt", f"{RECORD}/{WITNESS}"):
            (folder / name).mkdir(parents=True)

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Return etcd's endpoints."""
        return tuple(f"{self._network.address(host)}:2379" for host in MEMBERS)

    @property
    def witness(self) -> Path:
        """Return where the containers keep their diaries."""
        return self.folder / RECORD / WITNESS

    @property
    def permits(self) -> dict[str, Path]:
        """Return the file by which each node may run containers, by node."""
        return {node: RunPaths(self.run_dir(node)).permit for node in NODES}

    def run_dir(self, node: str) -> Path:
        """Return what a node's agent and warden share; a loss of power empties it."""
        return Path("/run/dorm") / self.cluster / node

    def warden_pid(self, node: str) -> int | None:
        """Return the process id of a node's warden, by its own word; None when it left none."""
        try:
            return int(json.loads(RunPaths(self.run_dir(node)).lock.read_bytes())["pid"])
        except (OSError, ValueError, KeyError):
            return None

    def state_dir(self, node: str) -> Path:
        """Return the state directory of a node's agent."""
        return self.folder / "agents" / node

    def client(self, *masters: str, give_up_s: float = 5.0) -> ApiClient:
        """Return a client of the named masters, or of all."""
        urls = [f"http://{self._network.address(host)}:{API_PORT}" for host in masters or MASTERS]
        return ApiClient(urls, user="chaos", give_up_s=give_up_s)

    def start(self, image: Path) -> None:
        """Start everything, with an image from a file, and wait until all nodes are ready.

        Raises:
            Unavailable: Something did not start; the message has its last words.
        """
        self.start_engine()
        self._load(image)
        for host in MEMBERS:
            self._start(host, self._etcd_command(host))
        for host in MASTERS:
            self._start(host, self._master_command(host))
        for node in NODES:
            self._start(node, self._agent_command(node))
        self.wait_until_ready()

    def start_engine(self) -> None:
        """Start the Docker engine and wait until it answers."""
        run_dir = Path(self.docker_url.removeprefix("unix://")).parent
        run_dir.mkdir(exist_ok=True)
        command = [
            shutil.which("dockerd") or "dockerd",
            f"--host={self.docker_url}",
            f"--data-root={self.folder / 'docker'}",
            f"--exec-root={run_dir / 'exec'}",
            f"--pidfile={run_dir / 'docker.pid'}",
            f"--cgroup-parent=/{self.cluster}",
            "--live-restore",
            "--bridge=none",
            *("--iptables=false", "--ip6tables=false", "--ip-forward=false"),
        ]
        self.children[ENGINE] = Child(ENGINE, command, log_path=self._log(ENGINE))
        self._wait_for_engine()

    def wait_until_ready(self) -> None:
        """Wait until a master leads and every node is ready.

        Raises:
            Unavailable: A process ended, or the time is up.
        """
        ends_at = time.monotonic() + READY_S
        with contextlib.closing(self.client()) as client:
            while time.monotonic() < ends_at:
                for child in self.children.values():
                    if not child.running:
                        raise Unavailable(f"{child.name} ended at once:\n{child.last_words()}")
                with contextlib.suppress(DormError):
                    status = client.status()
                    if status["leader"] and status["nodes"]["ready"] == len(NODES):
                        client.set_policy(PLAYFUL)
                        return
                time.sleep(0.2)
        raise Unavailable(f"the cluster was not ready within {READY_S:.0f} s")

    def leader(self) -> str | None:
        """Return the master that leads by its own word; None when none says so."""
        for host in MASTERS:
            with (
                contextlib.suppress(DormError),
                contextlib.closing(self.client(host, give_up_s=0.5)) as client,
            ):
                if client.status()["is_leader"]:
                    return host
        return None

    def docker(self) -> DockerApi:
        """Return a client of the engine."""
        return DockerApi(self.docker_url)

    def _load(self, image: Path) -> None:
        client = docker.DockerClient(base_url=self.docker_url, timeout=60)
        with contextlib.closing(client), image.open("rb") as file:
            client.images.load(file)

    def _wait_for_engine(self) -> None:
        ends_at, engine = time.monotonic() + READY_S, self.children[ENGINE]
        while engine.running and time.monotonic() < ends_at:
            with contextlib.suppress(Unavailable), contextlib.closing(self.docker()):
                return
            time.sleep(0.1)
        raise Unavailable(f"the Docker engine did not start:\n{engine.last_words()}")

    def _start(self, host: str, command: Sequence[str]) -> None:
        on_host = self._network.on(host, command)
        self.children[host] = Child(host, on_host, log_path=self._log(host))

    def _log(self, name: str) -> Path:
        return self.folder / "logs" / f"{name}.log"

    def _etcd_command(self, host: str) -> list[str]:
        address = self._network.address(host)
        everybody = ",".join(f"{one}=http://{self._network.address(one)}:2380" for one in MEMBERS)
        return [
            str(self._etcd),
            f"--name={host}",
            f"--data-dir={self.folder / 'etcd' / host}",
            f"--listen-client-urls=http://{address}:2379",
            f"--advertise-client-urls=http://{address}:2379",
            f"--listen-peer-urls=http://{address}:2380",
            f"--initial-advertise-peer-urls=http://{address}:2380",
            f"--initial-cluster={everybody}",
            *ETCD_FLAGS,
            "--unsafe-no-fsync",  # processes are killed, the machine's page cache is not
        ]

    def _master_command(self, host: str) -> list[str]:
        listen = f"{self._network.address(host)}:{API_PORT}"
        limits = ("--segment-events", str(SEGMENT_EVENTS))
        return [*self._dorm("master"), "--name", host, "--listen", listen, *limits]

    def _agent_command(self, node: str) -> list[str]:
        address = self._network.address(node)
        return [
            *self._dorm("agent"),
            *("--node", node, "--listen", f"{address}:7071", "--address", address),
            *("--state-dir", str(self.state_dir(node))),
            *("--cpus", f"{NODE_CPUS:g}", "--memory", f"{NODE_MEMORY >> 20}MiB"),
            *("--network", "none", "--docker", self.docker_url, "--fencing", "required"),
            *("--mount", f"ckpt={self.folder / 'ckpt'}"),
            *("--mount", f"witness={self.witness}"),
            *("--mount", f"code={Path(__file__).parent}:ro"),
        ]

    def _dorm(self, command: str) -> list[str]:
        cluster = ("--cluster", self.cluster, "--etcd", ",".join(self.endpoints))
        return [sys.executable, "-m", "dorm", command, *cluster]
