"""A master's turns in office: campaign, lead for one term, let go, and again."""

import asyncio
from collections.abc import Callable
from typing import Final

import attrs
import structlog

from dorm.backoff import Backoff
from dorm.config import MasterConfig
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.leadership import Leadership
from dorm.master.company import Company
from dorm.master.follower import Follower
from dorm.master.holding import Holding
from dorm.master.metrics import Metrics
from dorm.master.planning import Planning
from dorm.master.presence import Presence
from dorm.master.promises import Promises
from dorm.master.publisher import Publisher
from dorm.master.term import Term
from dorm.master.upkeep import Upkeep
from dorm.planner.port import Planner
from dorm.ports import Clock, Etcd, Randomness
from dorm.space.keeper import Keeper
from events.errors import Fenced, Regressed, Unavailable

_log = structlog.get_logger()

TICK_S: Final = 1.0  # leases and waits are looked at this often, besides every move of the log
UPKEEP_S: Final = 5.0


@attrs.frozen(kw_only=True)
class Office:
    """What one master does when it is its turn.

    Attributes:
        verified: Returns the revision up to which what was delivered is what is stored.
        presence: Watches leases and tenures; a test puts a broken one in.
        room: Keeps etcd from filling up, during a term.
    """

    config: MasterConfig
    etcd: Etcd
    keys: Keys
    log: EtcdLog
    follower: Follower
    verified: Callable[[], int]
    leadership: Leadership
    holding: Holding
    company: Company
    promises: Promises
    presence: type[Presence]
    planner: Planner
    metrics: Metrics
    room: Keeper
    clock: Clock
    randomness: Randomness

    async def run(self) -> None:
        """Lead whenever it is this master's turn, for ever."""
        backoff = Backoff(self.clock, self.randomness)
        while True:  # Leads until it is cancelled.
            await self.holding.until_free()
            try:
                epoch = await self.leadership.campaign()
                backoff.reset()
                await self._lead(epoch)
            except Fenced as error:
                _log.warning("leader.fenced", error=str(error))
            except Regressed as error:
                self.holding.suspect(str(error), sure=True)
            except Unavailable as error:
                await self._pause("leader.backing_off", error, backoff)
            # Whatever ended the term: an office that is not let go of is never campaigned for.
            await self.leadership.resign()

    async def _lead(self, epoch: int) -> None:
        """Work for one term. Returns when the lease is lost."""
        moved = asyncio.Event()
        term = self._new_term(epoch, moved)
        upkeep = Upkeep(
            etcd=self.etcd,
            keys=self.keys,
            log=self.log,
            follower=self.follower,
            term=term,
            segment_events_max=self.config.segment_events_max,
            snapshot_every=self.config.snapshot_every,
            verified=self.verified,
        )
        self.follower.wake(moved)
        keeper = asyncio.create_task(self.leadership.keep(), name="keep lease")
        room = asyncio.create_task(self.room.run(epoch), name="keep room")
        try:
            await self._work(term, upkeep, moved)
        finally:
            self.follower.forget(moved)
            keeper.cancel()
            room.cancel()
            _, failure = await asyncio.gather(keeper, room, return_exceptions=True)
            await term.end()
            if isinstance(failure, Exception):  # It handles what may happen, so this is a bug.
                raise failure

    async def _work(self, term: Term, upkeep: Upkeep, moved: asyncio.Event) -> None:
        backoff = Backoff(self.clock, self.randomness)
        begun, upkeep_at = False, self.clock.monotonic() + UPKEEP_S
        while self._in_office():
            moved.clear()
            try:
                if not begun:
                    await term.begin()
                    begun = True
                await term.reconcile(f"revision {self.follower.state.revision}")
                if self.clock.monotonic() >= upkeep_at:
                    await upkeep.run_once()
                    upkeep_at = self.clock.monotonic() + UPKEEP_S
                backoff.reset()
            except Unavailable as error:
                await self._pause("pass.backing_off", error, backoff)
                continue
            due_in_s = term.due_in_s
            await _wait(moved, TICK_S if due_in_s is None else min(TICK_S, due_in_s))

    def _new_term(self, epoch: int, moved: asyncio.Event) -> Term:
        return Term(
            name=self.config.name,
            epoch=epoch,
            log=self.log,
            follower=self.follower,
            presence=self.presence(
                self.etcd,
                self.keys,
                epoch=epoch,
                promises=self.promises,
                clock=self.clock,
                grace_s=self.config.node_grace_s,
            ),
            planning=Planning(self.planner, clock=self.clock, metrics=self.metrics, wake=moved.set),
            publisher=Publisher(self.etcd, self.keys, epoch=epoch),
            clock=self.clock,
            in_office=self._in_office,
            check=self.company.check,
        )

    def _in_office(self) -> bool:
        """Return whether this master may decide."""
        self.holding.saw(self.follower.state.revision)
        return self.leadership.still_mine() and not self.holding.reason

    async def _pause(self, what: str, error: Unavailable, backoff: Backoff) -> None:
        wait_s = backoff.next_s()
        _log.warning(what, error=str(error), retry_s=round(wait_s, 3))
        await self.clock.sleep(wait_s)


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    """Wait for the event, or for the time."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
