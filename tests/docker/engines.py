"""One test's share of a real Docker engine."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import attrs
import docker

from dorm import labels
from dorm.engine import DockerEngine
from dorm.ports.docker import Bind, ContainerSeen, Launch
from events.units import Resources

MIB = 1 << 20
SIGN_S = 15.0
RUN_FOR_EVER = ("sh", "-c", "while true; do sleep 0.1; done")


class Desk:
    """A Dorm cluster of its own on the engine, which leaves nothing behind."""

    def __init__(self, url: str, image: str) -> None:
        self.url, self.image = url, image
        self.cluster = f"test-{uuid4().hex[:12]}"
        self.network = self.cluster
        self.raw = docker.DockerClient(base_url=url, timeout=60)
        self.engines: list[DockerEngine] = []

    def engine(
        self, node_id: str = "n1", *, url: str = "", call_s: float = 30.0, disk_bytes_min: int = 0
    ) -> DockerEngine:
        """Return the engine as the agent of a node has it."""
        engine = DockerEngine(
            url or self.url,
            cluster=self.cluster,
            node_id=node_id,
            call_s=call_s,
            pull_s=10.0,
            disk_bytes_min=disk_bytes_min,
        )
        self.engines.append(engine)
        return engine

    def launch(
        self,
        app_id: str = "a",
        *command: str,
        node_id: str = "n1",
        **changes: Any,  # noqa: ANN401 - any field of a launch
    ) -> Launch:
        """Return what to make; the names of a test's containers begin with its cluster's."""
        app_id = self.app(app_id)
        return attrs.evolve(
            Launch(
                name=f"{app_id}-g1-w0",
                image=self.image,
                command=command or RUN_FOR_EVER,
                env={},
                labels={
                    **labels.of_node(self.cluster, node_id),
                    **labels.of_container((app_id, 1, 0), revision=7),
                },
                demand=Resources(cpu_milli=500, memory_bytes=64 * MIB),
                pids_max=50,
                devices=(),
                binds=(),
                network=self.network,
                stop_signal="SIGTERM",
                shm_bytes=16 * MIB,
            ),
            **changes,
        )

    def app(self, app_id: str) -> str:
        """Return an application id that no other test has."""
        return f"{self.cluster}-{app_id}"

    def inspect(self, name: str) -> Mapping[str, Any]:
        """Return all that the engine knows of a container."""
        found: Mapping[str, Any] = self.raw.api.inspect_container(name)
        return found

    def names(self) -> list[str]:
        """Return the names of this test's containers, running or not."""
        mark = f"{labels.CLUSTER}={self.cluster}"
        found = self.raw.containers.list(all=True, filters={"label": mark})
        return [container.name or "" for container in found]

    def clean_up(self) -> None:
        """Remove everything of this test's cluster."""
        mark = f"{labels.CLUSTER}={self.cluster}"
        for container in self.raw.containers.list(all=True, filters={"label": mark}):
            container.remove(force=True, v=True)
        for network in self.raw.networks.list(filters={"label": mark}):
            network.remove()
        for engine in self.engines:
            engine.close()
        self.raw.close()


async def started(engine: DockerEngine, launch: Launch, sign: Path) -> None:
    """Make and start a container, and wait until it has left a sign of itself."""
    await engine.create(launch)
    await engine.start(launch.name)
    limit = time.monotonic() + SIGN_S
    while not await asyncio.to_thread(sign.exists):  # Ends at the limit.
        assert time.monotonic() < limit, "the container leaves no sign"
        await asyncio.sleep(0.05)


async def ended(engine: DockerEngine, *, within_s: float = 15.0) -> ContainerSeen:
    """Return the only container once it has ended."""
    return await in_state(engine, "exited", within_s=within_s)


async def in_state(engine: DockerEngine, state: str, *, within_s: float = 15.0) -> ContainerSeen:
    """Return the only container once it is in that state."""
    limit = time.monotonic() + within_s
    while True:  # Ends at the limit.
        (container,) = await engine.containers()
        if container.state == state:
            return container
        assert time.monotonic() < limit, f"still {container}"


def bind(source: object, target: str, *, read_only: bool = False) -> Bind:
    """Return a mount of a directory of this machine."""
    return Bind(source=str(source), target=target, read_only=read_only)
