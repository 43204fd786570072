"""Reports on their way into the log. They are durable in the memory before they are sent.

While etcd is away they wait there; a crash sends some of them twice, which the fold ignores.
"""

import asyncio
from collections.abc import Sequence

import structlog

from dorm.agent.memory import Memory
from dorm.agent.world import World
from dorm.failpoints import point
from events.errors import Unavailable
from events.generations import ContainerExited, ContainerStarted
from events.log import EVENTS_PER_APPEND_MAX
from events.nodes import NodeReported
from events.recorded import Stamp

_log = structlog.get_logger()

Report = NodeReported | ContainerStarted | ContainerExited


class Outbox:
    """Sends what is to be reported, in order, until it is in the log."""

    def __init__(self, world: World, memory: Memory, *, node_id: str) -> None:
        self._world, self._memory, self._node_id = world, memory, node_id
        self._backoff = world.backoff()
        self._description: NodeReported | None = None
        self._bell = asyncio.Event()
        self._bell.set()  # An agent before may have left something.

    def describe(self, report: NodeReported) -> None:
        """Report the node. One that is not sent yet is replaced: only the newest counts."""
        self._description = report
        self.ring()

    def ring(self) -> None:
        """Look again: there is something to send."""
        self._bell.set()

    async def run(self) -> None:
        """Send for ever."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            while batch := self._unsent()[:EVENTS_PER_APPEND_MAX]:  # Each turn sends some.
                point("agent.outbox.unsent")
                await self._send(batch)
                point("agent.outbox.sent")
                await self._note_sent(batch)

    def _unsent(self) -> list[Report]:
        records = self._memory.now.containers.values()
        description = [self._description] if self._description else []
        starts = [
            ContainerStarted(
                app_id=one.app_id,
                generation=one.generation,
                rank=one.rank,
                node_id=self._node_id,
            )
            for one in records
            if one.started and not one.start_sent
        ]
        exits = [one.exit for one in records if one.exit is not None and not one.exit_sent]
        return [*description, *starts, *exits]

    async def _send(self, batch: Sequence[Report]) -> None:
        stamp = Stamp(at_ms=self._world.clock.now_ms(), actor=f"agent/{self._node_id}")
        unknown = False
        while True:  # Ends when the log has the batch; waits are bounded by the back-off.
            try:
                if unknown and await self._world.log.settle() is not None:
                    break
                unknown = True
                await self._world.log.append(batch, stamp=stamp)
                break
            except Unavailable as error:
                _log.warning("outbox.waits", events=len(batch), reason=str(error))
                await self._backoff.wait()
        self._backoff.reset()
        _log.info("outbox.sent", events=len(batch), kinds=[type(one).__name__ for one in batch])

    async def _note_sent(self, batch: Sequence[Report]) -> None:
        if self._description in batch:
            self._description = None
        while True:  # Ends when the disk takes it; a full one may be cleared.
            try:
                await self._remember_sent(batch)
            except Unavailable as error:
                _log.warning("outbox.not_noted", events=len(batch), reason=str(error))
                await self._backoff.wait()
            else:
                self._backoff.reset()
                return

    async def _remember_sent(self, batch: Sequence[Report]) -> None:
        starts = [_key(one) for one in batch if isinstance(one, ContainerStarted)]
        exits = [_key(one) for one in batch if isinstance(one, ContainerExited)]
        if starts:
            await self._memory.note(*starts, start_sent=True)
            point("agent.outbox.starts_noted")
        if exits:
            await self._memory.note(*exits, exit_sent=True)


def _key(event: ContainerStarted | ContainerExited) -> tuple[str, int, int]:
    return event.app_id, event.generation, event.rank
