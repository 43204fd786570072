"""The directory that a new generation works in, made before its containers are.

The node of rank 0 makes it, from the first checkpoint of the document that is whole. A damaged one
is reported, and the next is tried only when the log has said so: the document tells then. The
other nodes wait for the directory, and make it themselves after a while: it is not there when the
storage is not shared.
"""

import asyncio
from collections.abc import Collection
from typing import Final

import structlog

from dorm.agent.launch import place_of
from dorm.agent.outbox import Outbox
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.ports.checkpoints import Place
from events.checkpoints import CheckpointRejected
from events.errors import DormError, Rejected, Unavailable
from events.text import plural
from reconcilers.documents import Seed, WantedContainer
from reconcilers.exits import Key

_log = structlog.get_logger()

PATIENCE_S: Final = 5.0
"""So long a container waits for a copy before it looks whether it is wanted any more."""

Run = tuple[str, int]
"""Application and generation."""


class Seeder:
    """Makes directories of generations, each once, however many containers ask for it."""

    def __init__(self, config: AgentConfig, world: World, outbox: Outbox) -> None:
        self._config, self._outbox = config, outbox
        self._checkpoints, self._clock = world.checkpoints, world.clock
        self._copies: dict[Run, asyncio.Task[str | DormError]] = {}
        self._asked_s: dict[Run, float] = {}
        self._damaged: dict[tuple[Run, tuple[int, int]], str] = {}
        self._reported: set[tuple[Run, tuple[int, int]]] = set()

    async def run(self) -> None:
        """Live as long as the copies may: they end with this."""
        try:
            await asyncio.Event().wait()
        finally:
            self.forget_all_but(())

    def forget_all_but(self, keys: Collection[Key]) -> None:
        """End the copies that no container waits for any more."""
        wanted = {(app_id, generation) for app_id, generation, _ in keys}
        for run in [run for run in self._copies if run not in wanted]:
            self._copies.pop(run).cancel()
        self._asked_s = {run: at_s for run, at_s in self._asked_s.items() if run in wanted}
        self._damaged = {key: why for key, why in self._damaged.items() if key[0] in wanted}
        self._reported &= self._damaged.keys()

    async def prepare(self, wanted: WantedContainer) -> None:
        """Return once the directory of the container's generation is there.

        Raises:
            Unavailable: It is not there yet; ask again.
            Rejected: It never will be: no checkpoint is whole, or the storage cannot be used.
        """
        place = place_of(wanted, self._config)
        if place is None:
            return
        if wanted.seeds and wanted.seed is None:
            raise Rejected(
                f"has no whole checkpoint left of {plural(len(wanted.seeds), 'kept one')}",
                field="application",
                value=wanted.app_id,
                hint="`dorm show` tells what is damaged; repair the storage, then submit it again",
            )
        first_node = wanted.peers[0].node_id
        ours = first_node == self._config.node_id
        if wanted.seed is not None and not ours and not await self._waited(place, wanted):
            raise Unavailable(
                f"{place.work_dir(wanted.generation)} is not there: {first_node} makes it"
            )
        if damage := await self._make(place, wanted):
            self._reject(wanted, wanted.seed, damage, ours=ours)

    async def _waited(self, place: Place, wanted: WantedContainer) -> bool:
        """Return whether another node has made the directory, or had time enough."""
        if await self._checkpoints.is_ready(place, wanted.generation):
            return True
        now_s = self._clock.monotonic()
        since_s = self._asked_s.setdefault((wanted.app_id, wanted.generation), now_s)
        return now_s - since_s >= self._config.seed_wait_s

    async def _make(self, place: Place, wanted: WantedContainer) -> str:
        """Make the directory; return what is damaged, or nothing."""
        run, seed = (wanted.app_id, wanted.generation), wanted.seed
        if seed is not None and (known := self._damaged.get((run, seed.position))):
            return known
        copy = self._copies.get(run)
        if copy is None:
            copy = asyncio.create_task(self._copy(place, wanted.generation, seed))
            self._copies[run] = copy
        await asyncio.wait({copy}, timeout=PATIENCE_S)
        if not copy.done():
            raise Unavailable("the checkpoint is being copied")
        if self._copies.get(run) is copy:
            del self._copies[run]
        result = copy.result()
        if isinstance(result, DormError):
            raise result
        if result and seed is not None:
            self._damaged[run, seed.position] = result
        return result

    async def _copy(self, place: Place, generation: int, seed: Seed | None) -> str | DormError:
        try:
            return await self._checkpoints.seed(place, generation, seed)
        except (Rejected, Unavailable) as error:
            return error

    def _reject(
        self, wanted: WantedContainer, seed: Seed | None, damage: str, *, ours: bool
    ) -> None:
        """Tell the log that a checkpoint is damaged.

        Raises:
            Unavailable: Wait until the document names the next one.
            Rejected: This is not the node of rank 0, which alone has a say in that.
        """
        assert seed is not None, "only a checkpoint can be damaged"
        name = f"the checkpoint of generation {seed.generation} at step {seed.step}"
        if not ours:
            raise Rejected(
                f"does not have {name}: {damage}",
                field="node",
                value=self._config.node_id,
                hint="put checkpoints on storage that all nodes share",
            )
        if (key := ((wanted.app_id, wanted.generation), seed.position)) not in self._reported:
            self._reported.add(key)
            self._report(wanted, seed, damage)
        raise Unavailable(f"{name} is damaged: {damage}")

    def _report(self, wanted: WantedContainer, seed: Seed, damage: str) -> None:
        _log.warning("checkpoint.rejected", container=wanted.key, step=seed.step, reason=damage)
        self._outbox.reject(
            CheckpointRejected(
                app_id=wanted.app_id,
                generation=wanted.generation,
                node_id=self._config.node_id,
                saved_generation=seed.generation,
                step=seed.step,
                reason=damage,
            )
        )
