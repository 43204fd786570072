"""The leader's upkeep: roll-over and seals bound the log, snapshots shorten the next start."""

from collections.abc import Callable

import structlog

from dorm.failpoints import point
from dorm.keys import Keys
from dorm.log import snapshots
from dorm.log.etcd_log import EtcdLog
from dorm.master.follower import Follower
from dorm.master.term import Term
from dorm.ports import Etcd
from events.state import ClusterState

_log = structlog.get_logger()


class Upkeep:
    """The upkeep of one term."""

    def __init__(  # noqa: PLR0913 - the parts of one master, by name
        self,
        *,
        etcd: Etcd,
        keys: Keys,
        log: EtcdLog,
        follower: Follower,
        term: Term,
        segment_events_max: int,
        snapshot_every: int,
        verified: Callable[[], int],
    ) -> None:
        self._etcd, self._keys, self._event_log = etcd, keys, log
        self._follower, self._term = follower, term
        self._segment_events_max, self._snapshot_every = segment_events_max, snapshot_every
        self._snapshot_due_at = follower.events_read + snapshot_every
        self._verified = verified
        self._candidate: ClusterState | None = None

    async def run_once(self) -> None:
        """Do what is due; each part is safe to do again.

        Raises:
            Fenced: Another master leads.
            Unavailable: Try again later.
        """
        await self._roll_over_and_seal()
        if self._candidate is None and self._follower.events_read >= self._snapshot_due_at:
            self._candidate = self._follower.state
            self._snapshot_due_at = self._follower.events_read + self._snapshot_every
        # A state with a hole would be handed on for ever, so it waits until it is compared.
        if self._candidate is not None and self._candidate.revision <= self._verified():
            state, self._candidate = self._candidate, None
            await snapshots.save(self._etcd, self._keys, state, fence=self._term.epoch)
            _log.info("snapshot.saved", revision=state.revision)

    async def _roll_over_and_seal(self) -> None:
        segments = self._event_log.segments
        current = await segments.current()
        limit = self._segment_events_max
        if await segments.count(current.number, limit=limit) >= limit:
            number = await segments.roll_over(current, fence=self._term.epoch)
            point("upkeep.segment.opened")
            _log.info("segment.opened", segment=number)
            current = await segments.current()
        state = self._follower.state
        for number in range(state.sealed_segment + 1, current.number):
            seal = await self._event_log.seal(number, previous=self._follower.state.seal)
            await self._term.append_own((seal,), f"segment {number} is closed")
            point("upkeep.segment.sealed")
