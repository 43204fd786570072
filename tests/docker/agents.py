"""A node with a real agent process, on a real engine and a real etcd."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from dorm.etcd import EtcdClient, connect
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from dorm.ports.etcd import Compare, Put
from events.catalog import Event
from events.codec import to_json
from events.generations import ContainerExited
from events.nodes import NodeReported
from events.units import Resources
from reconcilers.documents import NodeDocument, Peer, StopOrder, WantedContainer
from tests.docker.engines import MIB, Desk

NODE = "n1"
STOP = StopOrder(signal="SIGTERM", grace_ms=1_500, reason="resize")
UP_S = 45.0  # of a whole Python process, on a machine that is busy with other tests


class Node:
    """What a test sees of one node: its agent, the log, and its containers."""

    def __init__(self, desk: Desk, etcd: EtcdCluster, tmp_path: Path) -> None:
        self.desk, self._etcd, self._state_dir = desk, etcd, tmp_path / "state"
        self.work = tmp_path / "work"
        self.work.mkdir()
        self.keys = Keys(desk.cluster)
        self._process: subprocess.Popen[bytes] | None = None
        self._output = tmp_path / "agent.log"

    def start(self) -> None:
        """Start the agent, anew if there was one."""
        command = [
            *(sys.executable, "-m", "dorm", "agent", "--node", NODE),
            *("--etcd", ",".join(self._etcd.endpoints), "--cluster", self.desk.cluster),
            *("--docker", self.desk.url, "--network", self.desk.network),
            *("--state-dir", str(self._state_dir), "--mount", f"work={self.work}"),
            *("--fencing", "off"),  # Documents of these tests come from no master.
            "--log-json",
        ]
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(command, stderr=output)

    def kill(self) -> None:
        """End the agent as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """End the agent as its operator does; returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(timeout=20)

    def wanted(self, *command: str, app_id: str = "a", **changes: object) -> WantedContainer:
        """Return a container that a document may hold."""
        app_id = self.desk.app(app_id)
        fields: dict[str, object] = {
            "app_id": app_id,
            "app_name": "train",
            "generation": 1,
            "rank": 0,
            "started": False,
            "stop": None,
            "image": self.desk.image,
            "command": command or ("sh", "-c", "while true; do sleep 0.1; done"),
            "resume": False,
            "env": {},
            "demand": Resources(cpu_milli=500, memory_bytes=64 * MIB),
            "pids_max": 50,
            "devices": (),
            "mounts": (),
            "checkpoint_path": "",
            "grace_ms": 1_500,
            "port": 20_000,
            "peers": (Peer(rank=0, node_id=NODE, host=f"{app_id}-g1-w0", port=20_000),),
        }
        return WantedContainer(**fields | changes)  # type: ignore[arg-type]

    async def order(self, revision: int, *containers: WantedContainer) -> None:
        """Write the node's document, as a master does."""
        document = NodeDocument(node_id=NODE, revision=revision, containers=containers)
        key = self.keys.desired(NODE)
        client = self._connect()
        found = await client.get(key)
        guard = Compare(key, "mod", found.mod_revision if found else 0)
        assert (await client.txn([guard], [Put(key, to_json(document))])).succeeded
        await client.close()

    async def events(self) -> list[Event]:
        """Return the log."""
        client = self._connect()
        log = EtcdLog(client, self.keys, producer="test")
        found, after = [], 0
        while True:  # Ends at the end of the log.
            page = await log.read(after=after)
            found += [recorded.event for recorded in page.recorded]
            after = page.through
            if page.at_end:
                break
        await client.close()
        return found

    async def until(
        self, holds: Callable[[list[Event]], bool], *, within_s: float = UP_S
    ) -> list[Event]:
        """Return the log once something is true of it."""
        limit = time.monotonic() + within_s
        while not holds(found := await self.events()):  # Ends at the limit.
            assert time.monotonic() < limit, (found, self._output.read_text()[-3000:])
            await asyncio.sleep(0.1)
        return found

    async def exit_of(self, wanted: WantedContainer, *, within_s: float = UP_S) -> ContainerExited:
        """Return how a container ended, once the log knows."""

        def has_ended(events: list[Event]) -> bool:
            return any(_is_exit(event, wanted) for event in events)

        found = await self.until(has_ended, within_s=within_s)
        (exit_,) = [event for event in found if isinstance(event, ContainerExited)]
        return exit_

    async def output(self, wanted: WantedContainer) -> httpx.Response:
        """Return what the agent answers to a request for a container's output."""
        reports = [event for event in await self.events() if isinstance(event, NodeReported)]
        url = f"{reports[-1].api_url}/v1/logs/{wanted.app_id}/{wanted.generation}/{wanted.rank}"
        async with httpx.AsyncClient(trust_env=False) as client:
            return await client.get(url)

    def _connect(self) -> EtcdClient:
        return connect(self._etcd.endpoints)


def _is_exit(event: Event, wanted: WantedContainer) -> bool:
    return (
        isinstance(event, ContainerExited)
        and (event.app_id, event.generation, event.rank) == wanted.key
    )
