"""The port of checkpoints on this machine's disks, in threads of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Final, TypeVar

from dorm.checkpoints import keeping, manifest, pruning, seeding, tree
from dorm.checkpoints.copying import GoOn
from dorm.ports.checkpoints import Kept, Place
from events.errors import Corrupt, Unavailable
from reconcilers.documents import Seed

T = TypeVar("T")

THREADS: Final = 4  # a copy takes minutes: it must not stand in the way of the agent's own files


class SystemCheckpoints:
    """See `dorm.ports.Checkpoints`. A caller that is cancelled ends its copy at the next chunk."""

    def __init__(self, node_id: str) -> None:
        """Take the name of this node, by which its scratch directories are told from others'."""
        self._node_id = node_id
        self._threads = ThreadPoolExecutor(THREADS, "checkpoints")

    async def is_ready(self, place: Place, generation: int) -> bool:
        """See `Checkpoints`."""
        return await self._run(lambda _: seeding.is_ready(place, generation))

    async def seed(self, place: Place, generation: int, seed: Seed | None) -> str:
        """See `Checkpoints`."""
        return await self._run(
            lambda go_on: seeding.seed(place, generation, seed, node_id=self._node_id, go_on=go_on)
        )

    async def written_step(self, place: Place, generation: int) -> int | None:
        """See `Checkpoints`."""
        return await self._run(lambda _: _written_step(place, generation))

    async def keep(self, place: Place, generation: int, *, unsaid: bool = False) -> Kept | None:
        """See `Checkpoints`."""
        return await self._run(
            lambda go_on: keeping.keep(place, generation, unsaid=unsaid, go_on=go_on)
        )

    async def prune(self, place: Place, generation: int, oldest_kept: tuple[int, int]) -> None:
        """See `Checkpoints`."""
        await self._run(lambda _: pruning.prune(place, generation, oldest_kept))

    async def _run(self, work: Callable[[GoOn], T]) -> T:
        given_up = Event()

        def go_on() -> None:
            if given_up.is_set():
                raise Unavailable("nobody waits for the copy any more")

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, work, go_on)
        except OSError as error:
            name = error.filename if isinstance(error.filename, str) else "a checkpoint"
            raise Unavailable(f"{name}: {error.strerror or error}") from error
        finally:
            given_up.set()


def _written_step(place: Place, generation: int) -> int | None:
    try:
        with tree.home(place) as home, tree.opened(home, f"g{generation}") as work:
            raw = keeping.word_in(work)
        return manifest.read_word(raw).step if raw else None
    except (FileNotFoundError, Corrupt):
        return None
