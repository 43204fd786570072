"""Reports on their way into the log. They are durable in the memory before they are sent.

While etcd is away they wait there; a crash sends some of them twice, which the fold ignores.
"""

import asyncio
from collections.abc import Callable, Sequence

import structlog

from dorm.agent.history import History
from dorm.agent.memory import Memory
from dorm.agent.world import World
from dorm.failpoints import point
from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.errors import Regressed, Unavailable
from events.generations import ContainerExited, ContainerStarted
from events.log import EVENTS_PER_APPEND_MAX
from events.nodes import NodeReported, NodeSettled
from events.recorded import Stamp

_log = structlog.get_logger()

Report = (
    NodeReported
    | NodeSettled
    | ContainerStarted
    | CheckpointSaved
    | CheckpointRejected
    | ContainerExited
)


class Outbox:
    """Sends what is to be reported, in order, until it is in the log.

    Attributes:
        may_describe: Tells whether the node is this agent's: a description from one that lost the
            name would undo what its successor said.
    """

    def __init__(self, world: World, memory: Memory, history: History, *, node_id: str) -> None:
        self._world, self._memory, self._node_id = world, memory, node_id
        self._history, self._backoff = history, world.backoff()
        self.may_describe: Callable[[], bool] = lambda: True
        self._description: NodeReported | None = None
        self._described: NodeReported | None = None
        self._settled: NodeSettled | None = None
        self._rejections: list[CheckpointRejected] = []
        self._bell = asyncio.Event()
        self._bell.set()  # An agent before may have left something.

    def describe(self, report: NodeReported) -> None:
        """Report the node. One that is not sent yet is replaced: only the newest counts."""
        self._description = report
        self.ring()

    def reject(self, rejection: CheckpointRejected) -> None:
        """Report a damaged checkpoint. One that a crash swallows is found damaged again."""
        if rejection not in self._rejections:
            self._rejections.append(rejection)
        self.ring()

    def ring(self) -> None:
        """Look again: there is something to send."""
        self._bell.set()

    def describe_again(self) -> None:
        """Report the node once more: another history may not know it."""
        self._description = self._description or self._described
        self.ring()

    def settle(self, epoch: int) -> None:
        """Report, once, that nothing of before this epoch of the store is left."""
        if epoch > self._memory.now.settled_epoch:
            self._settled = NodeSettled(node_id=self._node_id, epoch=epoch)
            self.ring()

    async def run(self) -> None:
        """Send for ever. In a store of another history nothing is sent, see `History`."""
        while True:
            await self._bell.wait()
            self._bell.clear()
            while batch := self._unsent()[:EVENTS_PER_APPEND_MAX]:  # Each turn sends some.
                point("agent.outbox.unsent")
                if not await self._send(batch):
                    break  # Rung again when there is another epoch.
                point("agent.outbox.sent")
                await self._note_sent(batch)

    def _unsent(self) -> list[Report]:
        if self._history.alarm:
            return []
        ready = self._description is not None and self.may_describe()
        description = [self._description] if self._description and ready else []
        if not self._history.settled:
            return [*description]  # What is remembered of containers is of another epoch.
        records = self._memory.now.containers.values()
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
        saves = [one.unsent_save for one in records if one.unsent_save is not None]
        exits = [one.exit for one in records if one.exit is not None and not one.exit_sent]
        settled = [self._settled] if self._settled else []
        return [*description, *settled, *self._rejections, *starts, *saves, *exits]

    async def _send(self, batch: Sequence[Report]) -> bool:
        """Returns whether the log has it; False when the store turned out to be another one."""
        stamp = Stamp(at_ms=self._world.clock.now_ms(), actor=f"agent/{self._node_id}")
        unknown, epoch = False, self._history.epoch
        while (
            not self._history.alarm and epoch == self._history.epoch
        ):  # Ends when the log has the batch; waits are bounded by the back-off.
            try:
                revision = await self._world.log.settle() if unknown else None
                unknown = True
                if revision is None:
                    revision = await self._world.log.append(batch, stamp=stamp)
            except Unavailable as error:
                _log.warning("outbox.waits", events=len(batch), reason=str(error))
                await self._backoff.wait()
            except Regressed as error:
                await self._history.suspect(str(error))
            else:
                self._memory.saw(revision)
                self._backoff.reset()
                kinds = [type(one).__name__ for one in batch]
                _log.info("outbox.sent", events=len(batch), kinds=kinds)
                return True
        return False

    async def _note_sent(self, batch: Sequence[Report]) -> None:
        if self._description in batch:
            self._described, self._description = self._description, None
        self._rejections = [one for one in self._rejections if one not in batch]
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
        if self._settled is not None and self._settled in batch:
            await self._memory.settled(self._settled.epoch)
            self._settled = None
        for saved in batch:
            if isinstance(saved, CheckpointSaved):
                key = saved.app_id, saved.generation, 0
                await self._memory.note(key, saved_sent=saved.step)
        starts = [_key(one) for one in batch if isinstance(one, ContainerStarted)]
        exits = [_key(one) for one in batch if isinstance(one, ContainerExited)]
        if starts:
            await self._memory.note(*starts, start_sent=True)
            point("agent.outbox.starts_noted")
        if exits:
            await self._memory.note(*exits, exit_sent=True)


def _key(event: ContainerStarted | ContainerExited) -> tuple[str, int, int]:
    return event.app_id, event.generation, event.rank
