"""The masters as one agent asks them: over a network that may be cut, some of them paused."""

import asyncio
from collections.abc import Mapping
from typing import Final

from dorm.master.master import Master
from tests.simulation.process import Process

ANSWER_S_MAX: Final = 0.8
LOOK_S: Final = 0.05


class SimMasters:
    """See `dorm.ports.Masters`. A cut process reaches nobody; etcd may be away all the same."""

    def __init__(self, process: Process, masters: Mapping[str, tuple[Process, Master]]) -> None:
        """Ask on behalf of `process`."""
        self._process, self._masters = process, masters

    async def promise(self, name: str, url: str, *, node_id: str, tenure: str) -> bool:
        """See `Masters`."""
        del url
        await self._process.gate()
        try:
            async with asyncio.timeout(ANSWER_S_MAX):
                return await self._ask(name, node_id, tenure)
        except TimeoutError:
            return False
        finally:
            await self._process.gate()

    async def _ask(self, name: str, node_id: str, tenure: str) -> bool:
        random = self._process.random
        await asyncio.sleep(random.uniform(0.001, 0.02))
        found = self._masters.get(name)
        if found is None or self._process.alone or found[0].alone or not await _answers(found[0]):
            await asyncio.Event().wait()  # Nobody answers; the deadline ends this.
        assert found is not None, "somebody answers"
        word = found[1].promise(node_id, tenure)
        await asyncio.sleep(random.uniform(0.001, 0.02))
        return word and await _answers(found[0])


async def _answers(master: Process) -> bool:
    """Wait while it is paused, and return whether it is alive then."""
    while master.alive and master.paused:  # noqa: ASYNC110 - it may wake up or die
        await asyncio.sleep(LOOK_S)
    return master.alive
