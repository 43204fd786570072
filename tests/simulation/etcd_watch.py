"""The watch of the simulated etcd."""

import asyncio
from typing import Final

from dorm.ports.etcd import WatchEvent
from events.errors import Unavailable
from tests.simulation.etcd_members import Member
from tests.simulation.etcd_network import Connection

SILENCE_S: Final = 3.0  # the real client's (`dorm.etcd.watch`)


class SimWatch:
    """One watch stream, on one member. It breaks with the member, and when it is cut off."""

    def __init__(self, way: Connection, prefix: str, start_revision: int) -> None:
        self._way, self._prefix, self._next = way, prefix, start_revision
        self._index = way.now
        self._broken = False

    def __aiter__(self) -> "SimWatch":
        """Return the stream."""
        return self

    async def __anext__(self) -> tuple[WatchEvent, ...]:
        """Return what changed, or nothing as a sign of life."""
        way = self._way
        await way.process.gate()
        if self._broken:
            raise StopAsyncIteration
        batch: tuple[WatchEvent, ...] = ()
        if self._serves():
            await self._wait()
            if self._serves():
                batch, self._next = way.store.changes(self._prefix, self._next)
        if not self._serves() or way.happens("broken_watch"):
            self._broken = True
            reset = not self._member.up
            await asyncio.sleep(way.latency() if reset else SILENCE_S)
            way.leave(self._index)
            await way.process.gate()
            raise Unavailable("the watch went silent")
        await way.process.gate()
        return batch

    async def aclose(self) -> None:
        """Give the stream back; it holds nothing."""
        self._broken = True

    @property
    def _member(self) -> Member:
        return self._way.members.all[self._index]

    def _serves(self) -> bool:
        """Return whether the stream holds. An election only makes it silent for a moment."""
        member = self._member
        return self._way.reaches(member) and not member.apart and member.leader_id != 0

    async def _wait(self) -> None:
        """Wait for a change and its way here; not for ever, to show that the stream is alive."""
        loop, store = asyncio.get_running_loop(), self._way.store
        here = loop.create_future()

        def arrive() -> None:
            if not here.done():
                here.set_result(None)

        def ring() -> None:
            loop.call_later(self._way.latency(), arrive)

        alive = loop.call_later(SILENCE_S, arrive)
        if store.has_changes(self._prefix, self._next):
            ring()
        else:
            store.bells.add(self._prefix, ring)
        try:
            await here
        finally:
            alive.cancel()
            store.bells.forget(self._prefix, ring)
