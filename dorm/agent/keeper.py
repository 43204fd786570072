"""Sets checkpoints of this node's trainings apart while they run, and at their end.

Only the node of rank 0 does. A report of it is in the agent's memory before it is sent, and the one
at the end is there together with the report of the end: the log learns of both in that order.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

import attrs
import structlog

from dorm.agent.launch import place_of
from dorm.agent.memory import Memory
from dorm.agent.outbox import Outbox
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.ports.checkpoints import Place
from events.checkpoints import CheckpointSaved
from events.errors import Rejected, Unavailable
from reconcilers.documents import NodeDocument, WantedContainer
from reconcilers.exits import Key

_log = structlog.get_logger()

LAST_TRIES: Final = 4
LAST_S: Final = 900.0  # a storage that hangs must not hold up the next generation for ever


@attrs.frozen(kw_only=True)
class Last:
    """What became of the checkpoint that a container left.

    Attributes:
        step: Of the newest checkpoint that is kept; None when there is none that counts.
        problem: Why the newest one could not be kept; empty when there was nothing to complain of.
    """

    step: int | None = None
    problem: str = ""


class Keeper:
    """Looks for new checkpoints, and has them kept."""

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        memory: Memory,
        outbox: Outbox,
        document: Callable[[], NodeDocument | None],
    ) -> None:
        self._config, self._memory, self._outbox = config, memory, outbox
        self._checkpoints, self._clock, self._backoff = (
            world.checkpoints,
            world.clock,
            world.backoff,
        )
        self._document = document
        self._locks: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tried_s: dict[Key, float] = {}
        self._pruned: dict[Key, tuple[int, int]] = {}

    async def run(self) -> None:
        """Look every `checkpoint_look_s`, for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._clock.sleep(self._config.checkpoint_look_s)
                document = self._document()
                for wanted in document.containers if document else ():
                    if self._is_running(wanted) and not self._locks[wanted.key].locked():
                        group.create_task(self._look(wanted))

    def forget_all_but(self, keys: Collection[Key]) -> None:
        """Forget the containers that nobody wants any more."""
        self._tried_s = {key: at_s for key, at_s in self._tried_s.items() if key in keys}
        self._pruned = {key: oldest for key, oldest in self._pruned.items() if key in keys}
        for key in [key for key in self._locks if key not in keys]:
            if not self._locks[key].locked():
                del self._locks[key]

    async def last(self, wanted: WantedContainer) -> Last:
        """Keep what a container left that has ended. It takes as long as the copy does."""
        place = self._place(wanted)
        if wanted.rank != 0 or place is None or self._memory.of(wanted.key).launched_at_s is None:
            return Last()
        async with self._locks[wanted.key]:
            problem = ""
            try:
                async with asyncio.timeout(LAST_S):
                    problem = await self._keep_last(place, wanted)
            except TimeoutError:
                problem = "the storage does not answer"
            if problem:
                _log.error("checkpoint.not_kept", container=wanted.key, reason=problem)
            return Last(step=self._step(wanted) or None, problem=problem)

    async def _keep_last(self, place: Place, wanted: WantedContainer) -> str:
        """Keep it if it is new; return why that did not work, or nothing."""
        backoff, problem = self._backoff(), ""
        for _ in range(LAST_TRIES):
            try:
                step = await self._checkpoints.written_step(place, wanted.generation)
                unsaid = step is None and not self._step(wanted)
                if unsaid or (step is not None and self._is_new(wanted, step)):
                    await self._keep(place, wanted, unsaid=unsaid)
            except Rejected as error:
                return str(error)
            except Unavailable as error:
                problem = str(error)
                await backoff.wait()
            else:
                return ""
        return problem

    async def _look(self, wanted: WantedContainer) -> None:
        """Keep a new checkpoint if it is time, and remove what nobody needs any more."""
        place = self._place(wanted)
        if place is None:
            return
        async with self._locks[wanted.key]:
            try:
                await self._keep_new(place, wanted)
                if wanted.oldest_kept and self._pruned.get(wanted.key) != wanted.oldest_kept:
                    oldest_kept = wanted.oldest_kept
                    await self._checkpoints.prune(place, wanted.generation, oldest_kept)
                    self._pruned[wanted.key] = oldest_kept
            except (Rejected, Unavailable) as error:
                _log.warning("checkpoint.waits", container=wanted.key, reason=str(error))

    async def _keep_new(self, place: Place, wanted: WantedContainer) -> None:
        now_s, key = self._clock.monotonic(), wanted.key
        if now_s - self._tried_s.get(key, float("-inf")) < self._config.checkpoint_every_s:
            return
        step = await self._checkpoints.written_step(place, wanted.generation)
        if step is not None and self._is_new(wanted, step) and self._is_running(wanted):
            self._tried_s[key] = now_s
            await self._keep(place, wanted)

    async def _keep(self, place: Place, wanted: WantedContainer, *, unsaid: bool = False) -> None:
        kept = await self._checkpoints.keep(place, wanted.generation, unsaid=unsaid)
        if kept is None or not self._is_new(wanted, kept.step):
            return
        saved = CheckpointSaved(
            app_id=wanted.app_id,
            generation=wanted.generation,
            node_id=self._config.node_id,
            step=kept.step,
            manifest_sha256=kept.manifest_sha256,
            size_bytes=kept.size_bytes,
            file_count=kept.file_count,
        )
        await self._memory.change(wanted.key, saved=saved)
        self._outbox.ring()
        _log.info("checkpoint.kept", container=wanted.key, step=kept.step, bytes=kept.size_bytes)

    def _place(self, wanted: WantedContainer) -> Place | None:
        try:
            return place_of(wanted, self._config)
        except Rejected:  # It could not even be made.
            return None

    def _is_running(self, wanted: WantedContainer) -> bool:
        known = self._memory.of(wanted.key)
        return wanted.rank == 0 and known.launched_at_s is not None and known.exit is None

    def _is_new(self, wanted: WantedContainer, step: int) -> bool:
        """Return whether a step is none that is kept already.

        Against its own generation it must have grown; a new one may begin anew.
        """
        saved = self._memory.of(wanted.key).saved
        if saved is not None:
            return step > saved.step
        return wanted.seed is None or not step or step != wanted.seed.step

    def _step(self, wanted: WantedContainer) -> int:
        """Return the step of the newest checkpoint that is kept, as far as this node knows."""
        saved = self._memory.of(wanted.key).saved
        if saved is not None:
            return saved.step
        return wanted.seed.step if wanted.seed else 0
