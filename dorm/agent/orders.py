"""The desired document of the node, as new as etcd can tell."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from dorm.agent.history import History
from dorm.agent.memory import Memory
from dorm.agent.world import World
from dorm.failpoints import point
from dorm.keys import Keys
from dorm.streams import closing
from events.errors import Compacted, Unavailable
from reconcilers.documents import NodeDocument

_log = structlog.get_logger()

RELIST_S: Final = 30.0  # a watch may be silent for reasons of its own; it is never the truth


class Orders:
    """Follows the document.

    Attributes:
        document: The newest one; None until the first is read. While etcd is away it stands.
        ring: Called when there is a newer one.
    """

    def __init__(
        self, world: World, memory: Memory, history: History, *, cluster: str, node_id: str
    ) -> None:
        self.document: NodeDocument | None = None
        self.ring: Callable[[], None] = lambda: None
        self._etcd, self._memory, self._backoff = world.etcd, memory, world.backoff()
        self._history = history
        self._key = Keys(cluster).desired(node_id)

    async def run(self) -> None:
        """Follow for ever.

        Raises:
            Corrupt: The document is unreadable, such as written by a newer Dorm.
        """
        while True:
            try:
                revision = await self._fetch()
                self._backoff.reset()
                await self._watch(revision)
            except Compacted:
                continue
            except Unavailable as error:
                _log.warning("orders.waits", reason=str(error))
                await self._backoff.wait()

    async def _watch(self, revision: int) -> None:
        """Fetch at each ring of the watch, until it is time to look without one."""
        try:
            async with (
                asyncio.timeout(RELIST_S),
                closing(self._etcd.watch(self._key, start_revision=revision + 1)) as batches,
            ):
                async for batch in batches:
                    if any(change.item.key == self._key for change in batch):
                        await self._fetch()
        except TimeoutError:
            return

    async def _fetch(self) -> int:
        return await self._history.look()

    def take(self, document: NodeDocument) -> None:
        """Take a document that may be obeyed, if it is no older one."""
        newest = self._memory.now.document_revision
        if self.document is not None and self.document.epoch == document.epoch:
            newest = max(newest, self.document.revision)
        if document.revision < newest:
            _log.warning("orders.outdated", revision=document.revision, newest=newest)
            return
        if document != self.document:
            _log.info(
                "orders.changed", revision=document.revision, containers=len(document.containers)
            )
            self.document = document
            self._memory.believe(document.revision)
            point("agent.orders.taken")
            self.ring()
