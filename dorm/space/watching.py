"""Every master looks at the room in etcd: the API of each has to know when to refuse."""

from typing import Final

import structlog

from dorm.ports.clock import Clock
from dorm.ports.etcd import Etcd
from dorm.space.levels import Level, Space, reckon

_log = structlog.get_logger()

LOOK_S: Final = 5.0


class SpaceWatch:
    """The room in etcd, as it was a moment ago.

    Attributes:
        now: While no member answers, what the last one said.
    """

    def __init__(self, etcd: Etcd, *, clock: Clock, quota_bytes: int) -> None:
        self.now = Space()
        self._etcd, self._clock, self._quota_bytes = etcd, clock, quota_bytes

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await self._clock.sleep(LOOK_S)

    async def look(self) -> None:
        """Look once. Members that do not answer are left out; nobody waits for them."""
        space = reckon(await self._etcd.status(), quota_bytes=self._quota_bytes)
        if not space.members:
            return
        before, self.now = self.now.level, space
        if space.level is not before:
            say = _log.info if space.level is Level.ROOMY else _log.warning
            say("etcd.space", level=space.level.name.lower(), space=str(space))
