"""The node's right to run containers: extended beat by beat, or attested while etcd is away.

A beat is a transaction that writes, so it went through etcd's log: a read may be stale, and a
lease may be kept alive after it was revoked. It holds while nobody took the node's key, and nobody
ended its tenure. Then the containers may run until `fence_s` after the *sending* of the request.

Losing etcd must not stop a training. While beats fail the right is extended, from the moment that
the question was sent, if nobody can be at work to take it away:

- most members of etcd answer that they see no leader, or
- every registered master gives its word not to end it for now (as in Patroni's failsafe mode).

An extension never revives a right that has lapsed while it was asked for.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from dorm.agent.registration import Registration
from dorm.agent.reporter import Reporter
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.failpoints import point
from dorm.keys import Keys
from dorm.ports import Get, TxnResult
from dorm.tenure import FAILSAFE_S_MAX, MasterEntry
from events.codec import from_json, to_json
from events.errors import NoSpace, Rejected, Unavailable

_log = structlog.get_logger()

BEAT_S_MAX: Final = 1.5  # two tries of etcd's client; what is left of the fence is for attestation
ATTEST_S_MAX: Final = 1.0
MEMBERS_EVERY: Final = 30  # beats between two looks at who the members of etcd are


class Right:
    """Keeps the permit of the node's warden ahead of the time.

    Attributes:
        deadline_s: Until when containers may run, by this machine's monotonic clock.
        ring: Called when they may run again.
    """

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        tenure: str,
        registration: Registration,
        reporter: Reporter,
    ) -> None:
        """Take what is to be kept; nothing is extended yet."""
        self.deadline_s = 0.0
        self._hindered = False  # by this machine itself, in the last beat
        self.ring: Callable[[], None] = lambda: None
        self._config, self._world, self._tenure = config, world, tenure
        self._registration, self._reporter = registration, reporter
        keys = Keys(config.cluster.cluster)
        self._status_key, self._masters_key = keys.status(config.node_id), keys.masters
        self._masters: Mapping[str, MasterEntry] = {}
        self._members: frozenset[int] = frozenset()
        self._members_due = 0
        self._failsafe_until = 0.0

    @property
    def holds(self) -> bool:
        """Return whether containers may run now. Always, on a node that cannot be fenced."""
        return self._world.warden is None or self._world.clock.monotonic() < self.deadline_s

    async def begin(self) -> None:
        """Shorten what an agent before this one was granted, if it had a longer fence.

        The record in etcd is about to say for how long to wait for what it says now.
        """
        warden, backoff = self._world.warden, self._world.backoff()
        while warden is not None:  # Until the permit can be written.
            try:
                permit = await warden.permitted()
                longest_s = self._world.clock.monotonic() + self._config.fence_s
                if permit and permit.tenure == self._tenure and permit.deadline_s > longest_s:
                    await warden.permit(self._tenure, longest_s)
            except Unavailable as error:
                _log.warning("right.not_shortened", reason=str(error))
                await backoff.wait()
            else:
                return

    async def run(self) -> None:
        """Beat for ever. The warden is looked after before the node is registered, too."""
        clock, held = self._world.clock, self._registration.held
        while not held.is_set():
            await self._is_guarded()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.beat_s):
                    await held.wait()
        held_at = clock.monotonic()
        while True:
            began_at = clock.monotonic()
            self._hindered = False
            try:
                await self._beat()
            except Unavailable as error:
                _log.warning("right.not_extended", reason=str(error))
            if self.holds or not self._hindered:
                held_at = clock.monotonic()
            elif clock.monotonic() - held_at > self._config.lease_ttl_s:
                await self._registration.withdraw()
                held_at = clock.monotonic()
            await clock.sleep(max(0.1, began_at + self._config.beat_s - clock.monotonic()))

    async def _beat(self) -> None:
        """Extend the right once, if it can be.

        Raises:
            Unavailable: The permit could not be written.
        """
        if not await self._is_guarded():
            self._hindered = True
            return
        sent_at = self._world.clock.monotonic()
        try:
            async with asyncio.timeout(BEAT_S_MAX):
                answer = await self._write()
        except NoSpace as error:
            _log.error("right.no_space", reason=str(error))
            await self._beat_without_room()
        except (Unavailable, TimeoutError) as error:
            _log.warning("right.unanswered", reason=str(error))
            await self._attest()
        else:
            if answer is not None:
                point("agent.right.written")
                await self._extend(sent_at)
                await self._learn(answer)

    async def _beat_without_room(self) -> None:
        """Beat by a delete: one member may be full by itself, while the others end a tenure."""
        sent_at = self._world.clock.monotonic()
        try:
            async with asyncio.timeout(ATTEST_S_MAX):
                stands = await self._registration.stands()
        except (Unavailable, TimeoutError) as error:
            _log.warning("right.unanswered", reason=str(error))
            await self._attest()  # A member without room refuses a put before it misses a leader.
            return
        if stands:
            await self._extend(sent_at)

    async def _is_guarded(self) -> bool:
        """Return whether somebody would freeze what has no right to run."""
        warden = self._world.warden
        if warden is None:
            return True
        try:
            guarded, reason = await warden.ensure(), "the warden does not run"
        except Rejected as error:
            guarded, reason = False, str(error)
        if not guarded:
            _log.error("right.unguarded", reason=reason)
        return guarded

    async def _write(self) -> TxnResult | None:
        if not self._registration.lease_id:
            raise Unavailable("the node is not registered")
        status = await self._reporter.status()
        return await self._registration.put(
            self._status_key, to_json(status), Get(self._masters_key)
        )

    async def _extend(self, sent_at: float) -> None:
        deadline_s = sent_at + self._config.fence_s
        if self._world.warden is not None:
            try:
                await self._world.warden.permit(self._tenure, deadline_s)
            except Unavailable:
                self._hindered = True
                raise
            point("agent.right.extended")
        held, self.deadline_s = self.holds, deadline_s
        if not held:
            self.ring()

    async def _learn(self, answer: TxnResult) -> None:
        """Remember, for the time without etcd, who else could be asked."""
        clock, (masters,) = self._world.clock, answer.gets
        self._failsafe_until = clock.monotonic() + FAILSAFE_S_MAX
        if masters is not None and masters.mod_revision != self._reporter.masters_revision:
            self._masters = from_json(masters.value, dict[str, MasterEntry])
            self._reporter.masters_revision = masters.mod_revision
        self._members_due -= 1
        if self._members_due <= 0:
            self._members = frozenset(await self._world.etcd.members())
            self._members_due = MEMBERS_EVERY

    async def _attest(self) -> None:
        asked_at = self._world.clock.monotonic()
        if self._world.warden is None or asked_at >= self.deadline_s:
            return
        try:
            async with asyncio.timeout(ATTEST_S_MAX):
                answers = await asyncio.gather(self._etcd_is_mute(), self._masters_promise())
        except TimeoutError:
            return
        if any(answers) and self._world.clock.monotonic() < self.deadline_s:
            await self._extend(asked_at)
            _log.warning("right.attested", by_members=answers[0], by_masters=answers[1])

    async def _etcd_is_mute(self) -> bool:
        """Return whether most members of etcd say that they have no leader."""
        if not self._members:
            return False
        found = await self._world.etcd.status()
        mute = {one.member_id for one in found if one.leader_id == 0} & self._members
        return len(mute) * 2 > len(self._members)

    async def _masters_promise(self) -> bool:
        """Return whether every master there is gives its word."""
        clock = self._world.clock
        if not self._masters or clock.monotonic() >= self._failsafe_until:
            return False
        words = await asyncio.gather(
            *(self._promises(name, entry) for name, entry in sorted(self._masters.items()))
        )
        return all(words)

    async def _promises(self, name: str, entry: MasterEntry) -> bool:
        return await self._world.masters.promise(
            name, entry.url, node_id=self._config.node_id, tenure=self._tenure
        )
