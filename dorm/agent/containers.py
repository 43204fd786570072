"""The loop that compares the containers wanted with the containers there."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

import structlog

from dorm.agent.hands import MESSAGE_LENGTH_MAX, Hands
from dorm.agent.memory import Memory
from dorm.agent.world import World
from dorm.backoff import Backoff
from dorm.ports import ContainerSeen
from events.errors import Unavailable
from reconcilers import node
from reconcilers.documents import NodeDocument, container_name, same_origin
from reconcilers.exits import Key
from reconcilers.node import Action, Create, Observed

_log = structlog.get_logger()


class Containers:
    """Brings the node's containers to what the document says, one action a container at a time."""

    def __init__(
        self,
        world: World,
        *,
        memory: Memory,
        hands: Hands,
        document: Callable[[], NodeDocument | None],
        settled: Callable[[int], None],
        relist_s: float,
    ) -> None:
        """Take what it works with.

        Args:
            world: The ports.
            memory: Of the agent.
            hands: Carry out what is decided.
            document: Returns what is wanted; None while nothing may be done.
            settled: Told when nothing of before an epoch of the store is left.
            relist_s: How often Docker is listed without any wake-up.
        """
        self._world, self._memory, self._hands = world, memory, hands
        self._document, self._settled, self._relist_s = document, settled, relist_s
        self._bell = asyncio.Event()
        self._busy: set[Key] = set()
        self._making: dict[Key, asyncio.Task[None]] = {}
        self._held: dict[Key, str] = {}
        self._backoffs: dict[Key, Backoff] = {}

    def ring(self) -> None:
        """Look again now: something may have changed."""
        self._bell.set()

    def held(self) -> dict[str, str]:
        """Return why containers cannot be made yet, by their names."""
        return {container_name(*key): why for key, why in sorted(self._held.items())}

    def begin_anew(self) -> None:
        """Forget what the engine refused: it was of another epoch of the store."""
        self._hands.forget_all_but(())
        self.ring()

    async def run(self) -> None:
        """Look at each ring, and when it is time to look without one, for ever."""
        backoff, wait_s = self._world.backoff(), 0.0
        async with asyncio.TaskGroup() as group:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._bell.wait()
                self._bell.clear()
                try:
                    wait_s = await self._look(group)
                    backoff.reset()
                except Unavailable as error:
                    _log.warning("containers.unseen", reason=str(error))
                    await backoff.wait()

    async def _look(self, group: asyncio.TaskGroup) -> float:
        """Run one pass; returns after how many seconds the next is due without any ring."""
        busy = frozenset(self._busy)  # What is ending now may be missing from the list already.
        containers = await self._world.docker.containers()
        document = self._document()
        if document is None:
            return self._relist_s
        self._give_up(document)
        observed = self._observe(document, containers, busy)
        if not busy and not node.leftovers(document, observed):
            self._settled(document.epoch)
        for action in node.plan(document, observed):
            self._busy.add(action.key)
            task = group.create_task(self._act(action, document))
            if isinstance(action, Create):
                self._making[action.key] = task
        await self._forget(document, containers)
        look_ms = node.next_look_ms(document, observed)
        return self._relist_s if look_ms is None else min(self._relist_s, look_ms / 1000)

    def _give_up(self, document: NodeDocument) -> None:
        """Stop making what is not to run any more: its image may take minutes, or never come.

        One that is made all the same is never started: its end is reported, or nobody wants it.
        """
        wanted = {one.key for one in document.containers if one.stop is None}
        for key, task in self._making.items():
            if key not in wanted:
                task.cancel()

    async def _act(self, action: Action, document: NodeDocument) -> None:
        """Carry out one action; a failed one keeps its container busy for a while."""
        key = action.key
        try:
            await self._hands.perform(action, document)
            self._backoffs.pop(key, None)
            self._held.pop(key, None)
        except Unavailable as error:
            _log.warning("container.waits", container=key, reason=str(error))
            if isinstance(action, Create):
                self._held[key] = str(error)[:MESSAGE_LENGTH_MAX]
            await self._backoffs.setdefault(key, self._world.backoff()).wait()
        finally:
            self._making.pop(key, None)
            self._busy.discard(key)
            self.ring()

    async def _forget(self, document: NodeDocument, containers: Iterable[ContainerSeen]) -> None:
        wanted = {container.key for container in document.containers}
        present = {container.key for container in containers}
        self._hands.forget_all_but(wanted)
        self._held = {key: why for key, why in self._held.items() if key in wanted}
        await self._memory.forget_all_but(wanted | present | self._busy)

    def _observe(
        self, document: NodeDocument, containers: tuple[ContainerSeen, ...], busy: frozenset[Key]
    ) -> Observed:
        # A record of another container of that name says nothing about this one.
        origins = {one.key: one.origin for one in document.containers}
        origins |= {one.key: one.origin for one in containers}
        records = [
            one
            for one in self._memory.now.containers.values()
            if same_origin(one.origin, origins.get(one.key, ""))
        ]
        return Observed(
            containers=containers,
            tenure=self._memory.now.tenure,
            signalled_ms={
                one.key: self._since_ms(one.signalled_at_s)
                for one in records
                if one.signalled_at_s is not None
            },
            killed_ms={
                one.key: self._since_ms(one.killed_at_s)
                for one in records
                if one.killed_at_s is not None
            },
            launched_ms={
                one.key: self._since_ms(one.launched_at_s)
                for one in records
                if one.launched_at_s is not None
            },
            started=frozenset(one.key for one in records if one.started),
            exited=frozenset(one.key for one in records if one.exit is not None),
            refused=dict(self._hands.refused),
            busy=busy,
        )

    def _since_ms(self, at_s: float) -> int:
        """Return the time since then; 0 after a reboot, when the clock began anew."""
        return max(0, int((self._world.clock.monotonic() - at_s) * 1000))
