"""The node's status: of the present only, under the lease, so it goes when the agent goes."""

import structlog

from dorm.agent import progress
from dorm.agent.history import History
from dorm.agent.orders import Orders
from dorm.agent.paths import Paths
from dorm.agent.registration import Registration
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.keys import Keys
from dorm.status import NodeStatus
from events.codec import to_json
from events.errors import Unavailable

_log = structlog.get_logger()


class Reporter:
    """Writes the status whenever it has changed."""

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        incarnation: str,
        registration: Registration,
        orders: Orders,
        history: History,
    ) -> None:
        self._config, self._incarnation = config, incarnation
        self._registration, self._orders, self._history = registration, orders, history
        self._files, self._clock, self._backoff = world.files, world.clock, world.backoff()
        self._key = Keys(config.cluster.cluster).status(config.node_id)
        self._told: tuple[int, NodeStatus] | None = None

    async def run(self) -> None:
        """Look at the progress every `progress_s`, for ever."""
        while True:
            await self._clock.sleep(self._config.progress_s)
            try:
                await self._tell()
                self._backoff.reset()
            except Unavailable as error:
                _log.warning("status.waits", reason=str(error))
                await self._backoff.wait()

    async def _tell(self) -> None:
        lease_id, status = self._registration.lease_id, await self._status()
        if not lease_id or self._told == (lease_id, status):
            return
        if await self._registration.put(self._key, to_json(status)):
            self._told = lease_id, status
        else:
            self._registration.lost()

    async def _status(self) -> NodeStatus:
        document, paths = self._orders.document, Paths(self._config.state_dir)
        return NodeStatus(
            node_id=self._config.node_id,
            incarnation=self._incarnation,
            document_revision=document.revision if document else 0,
            alarm=self._history.alarm,
            progress=await progress.read_all(self._files, paths, document) if document else {},
        )
