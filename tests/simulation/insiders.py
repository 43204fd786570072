"""Wardens, masters and agents with one protection switched off by a class that they are given."""

import asyncio
from typing import ClassVar

from dorm.agent.agent import Agent
from dorm.agent.right import Right
from dorm.master.master import Master
from dorm.master.presence import Presence
from dorm.master.promises import Promises
from dorm.master.registry import Registry
from dorm.tenure import TenureRecord
from events.errors import Unavailable
from events.state import ClusterState
from reconcilers.membership import Observed
from tests.simulation.warden import SimWarden


class NoRoomForPermits(SimWarden):
    """After a while permits of one node cannot be written: its tmpfs is full."""

    victims: ClassVar[set[object]] = set()

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """See `Warden`."""
        await self._process.gate()
        if self._warden in self.victims:
            raise Unavailable("the permit cannot be written: No space left on device")
        await super().permit(tenure, deadline_s)


class NoWarden(SimWarden):
    """Nothing guards the node, and its agent is told that something does."""

    async def ensure(self) -> bool:
        """See `Warden`."""
        await self._process.gate()
        return True


class LatePermit(SimWarden):
    """A permit lasts from the moment of the answer, not of the question."""

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """See `Warden`."""
        clock = self._process.clock
        now_s = asyncio.get_running_loop().time() * clock.rate + clock.boot_s
        fence_s = TenureRecord(tenure=tenure).fence_s
        await super().permit(tenure, now_s + fence_s if deadline_s else 0.0)


class NeverWaitsToBeEmpty(SimWarden):
    """A new tenure begins although something of the old one may be there."""

    async def empty(self, tenure: str) -> bool:
        """See `Warden`."""
        del tenure
        await self._process.gate()
        return True


class _NoGap(Presence):
    async def look(self, state: ClusterState) -> Observed:
        if self._looked_at is not None:
            self._looked_at = float("inf")
        return await super().look(state)


class NoGapMaster(Master):
    """A leader counts the time in which it did not look."""

    presence = _NoGap


class _Unbound(Promises):
    def binds(self, record: TenureRecord) -> bool:
        del record
        return False


class FaithlessMaster(Master):
    """A leader gives its word, and does not keep it."""

    promises = _Unbound

    def promise(self, node_id: str, tenure: str) -> bool:
        """Give its word about anything."""
        del node_id, tenure
        return True


class _Rash(Registry):
    async def _unaware(self, revision: int) -> tuple[str, ...]:
        del revision
        return ()


class RashMaster(Master):
    """A master campaigns although nodes do not know it."""

    registry = _Rash


class _Always(Right):
    @property
    def holds(self) -> bool:
        return True


class LawlessAgent(Agent):
    """An agent acts on its document without the right to."""

    right = _Always


class _Late(Right):
    async def _attest(self) -> None:
        asked_at = self._world.clock.monotonic()
        answers = await asyncio.gather(self._etcd_is_mute(), self._masters_promise())
        if any(answers):
            await self._extend(asked_at)


class RevivingAgent(Agent):
    """An extension revives a right that has lapsed."""

    right = _Late
