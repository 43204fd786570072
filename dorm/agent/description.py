"""What the agent says of its machine, and when."""

from collections.abc import Callable, Mapping

import attrs
import structlog

from dorm.agent.outbox import Outbox
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.streams import closing
from events.errors import Unavailable
from events.nodes import NodeReported

_log = structlog.get_logger()


def api_url(config: AgentConfig) -> str:
    """Return where the agent answers."""
    return f"http://{config.address}:{config.listen_port}"


def describe(
    config: AgentConfig, *, incarnation: str, tenure: str, versions: Mapping[str, str]
) -> NodeReported:
    """Return the report of a machine."""
    return NodeReported(
        node_id=config.node_id,
        incarnation=incarnation,
        capacity=attrs.evolve(config.capacity, gpu_count=len(config.devices)),
        devices=config.devices,
        address=config.address,
        api_url=api_url(config),
        network="host" if config.network == "host" else "bridge",
        labels=config.labels,
        versions=versions,
        tenure=tenure,
    )


class Listener:
    """Listens to Docker, and describes the node again whenever the engine was away."""

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        incarnation: str,
        tenure: str,
        outbox: Outbox,
        ring: Callable[[], None],
    ) -> None:
        self._config, self._incarnation, self._tenure = config, incarnation, tenure
        self._docker, self._backoff = world.docker, world.backoff()
        self._outbox, self._ring = outbox, ring
        self._described: NodeReported | None = None

    async def run(self) -> None:
        """Listen for ever. A missed ring costs a relist interval, nothing else."""
        while True:
            try:
                await self._describe()
                async with closing(self._docker.doorbell()) as rings:
                    async for _ in rings:
                        self._ring()
                        self._backoff.reset()
            except Unavailable as error:
                _log.warning("docker.silent", reason=str(error))
            self._ring()
            await self._backoff.wait()

    async def _describe(self) -> None:
        versions = await self._docker.versions()
        report = describe(
            self._config, incarnation=self._incarnation, tenure=self._tenure, versions=versions
        )
        if report != self._described:
            self._outbox.describe(report)
            self._described = report
