"""The node's status: of the present only, under the lease, so it goes when the agent goes."""

from collections.abc import Callable, Mapping

from dorm.agent import progress
from dorm.agent.orders import Orders
from dorm.agent.paths import Paths
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.status import NodeStatus


class Reporter:
    """Puts together what every beat says.

    Attributes:
        masters_revision: Of the list of masters that the agent knows.
        held: Called for what cannot be made yet, and why.
    """

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        incarnation: str,
        orders: Orders,
        alarm: Callable[[], str],
    ) -> None:
        """Take where to look."""
        self.masters_revision = 0
        self.held: Callable[[], Mapping[str, str]] = dict
        self._config, self._incarnation = config, incarnation
        self._orders, self._files, self._alarm = orders, world.files, alarm

    async def status(self) -> NodeStatus:
        """Return how the node is now."""
        document, paths = self._orders.document, Paths(self._config.state_dir)
        return NodeStatus(
            node_id=self._config.node_id,
            incarnation=self._incarnation,
            document_revision=document.revision if document else 0,
            alarm=self._alarm(),
            masters_revision=self.masters_revision,
            progress=await progress.read_all(self._files, paths, document) if document else {},
            held=self.held(),
        )
