"""Who leads: the master whose key stands at `leader`, under a lease.

The key's create revision is the leader's *epoch*. Every write of a leader compares it, so safety
never rests on a clock. The clock only keeps things tidy: a master stops acting when its lease may
have run out by its own reckoning.
"""

import asyncio
from contextlib import suppress
from typing import Final

import attrs
import structlog

from dorm.backoff import Backoff
from dorm.failpoints import point
from dorm.keys import Keys
from dorm.ports.clock import Clock, Randomness
from dorm.ports.etcd import Compare, Delete, Etcd, Get, KeyValue, Put
from dorm.streams import closing
from events.codec import to_json
from events.errors import Compacted, Fenced, Rejected, Unavailable

_log = structlog.get_logger()

MARGIN_S: Final = 1.0  # stop acting this long before the lease can have run out
TOKEN_LENGTH: Final = 12


@attrs.frozen(kw_only=True)
class LeaderRecord:
    """The value of the leader key. `token` makes it unlike that of any other campaign."""

    master: str
    address: str
    token: str


class Leadership:
    """One master's bid for office, and its hold on it.

    Attributes:
        epoch: Of the term in office; None while out of office.
    """

    def __init__(  # noqa: PLR0913 - two ports, two kinds of chance and time, and who it is
        self,
        etcd: Etcd,
        keys: Keys,
        *,
        name: str,
        ttl_s: float,
        clock: Clock,
        randomness: Randomness,
        address: str = "",
    ) -> None:
        self.epoch: int | None = None
        self._etcd, self._key = etcd, keys.leader
        self._name, self._address, self._ttl_s = name, address, ttl_s
        self._clock, self._randomness = clock, randomness
        self._lease_id = 0
        self._mine_until = 0.0

    async def campaign(self) -> int:
        """Wait until this master leads, for as long as it takes; return its epoch."""
        token = self._randomness.token(TOKEN_LENGTH)
        record = LeaderRecord(master=self._name, address=self._address, token=token)
        backoff = Backoff(self._clock, self._randomness)
        while self.epoch is None:  # Ends when the leader in office goes.
            try:
                await self._run_for_office(to_json(record))
                backoff.reset()
            except (Unavailable, Rejected, Compacted) as error:
                wait_s = backoff.next_s()
                _log.warning("campaign.retried", error=str(error), retry_s=round(wait_s, 3))
                await self._clock.sleep(wait_s)
        point("leader.campaign.entered")
        _log.info("campaign.won", master=self._name, epoch=self.epoch)
        return self.epoch

    async def keep(self) -> None:
        """Keep the lease alive. Returns only by raising.

        Raises:
            Fenced: The lease is gone, or may be. The master must stop acting, and campaign again.
        """
        backoff = Backoff(self._clock, self._randomness, max_s=self._ttl_s / 5)
        while self.still_mine():
            try:
                async with asyncio.timeout(self._mine_until - self._clock.monotonic()):
                    await self._renew()
            except (Unavailable, TimeoutError) as error:
                _log.warning("lease.not_renewed", error=str(error))
                await backoff.wait()
                continue
            backoff.reset()
            await self._clock.sleep(self._ttl_s / 3)
        epoch, self.epoch = self.epoch, None
        raise Fenced(f"the lease of epoch {epoch} ran out")

    def still_mine(self) -> bool:
        """Whether this master surely leads, by its own clock."""
        return self.epoch is not None and self._clock.monotonic() < self._mine_until

    async def resign(self) -> None:
        """Give up office now, so that another master need not wait for the lease to run out."""
        epoch, self.epoch = self.epoch, None
        if epoch is None:
            return
        with suppress(Unavailable):  # The lease runs out by itself then.
            await self._etcd.txn((Compare(self._key, "create", epoch),), (Delete(self._key),))
            point("leader.resign.deleted")
            await self._etcd.revoke(self._lease_id)

    async def _run_for_office(self, value: bytes) -> None:
        """Take office if it is free; else wait until it may be."""
        result = await self._etcd.txn((), (Get(self._key),))
        in_office = result.gets[0]
        if in_office is None:
            in_office = await self._take(value)
        if in_office.value == value:
            await self._enter(in_office)
        else:
            await self._wait_for_vacancy(result.revision)

    async def _take(self, value: bytes) -> KeyValue:
        """Try to create the leader key; return it as it stands then, ours or not."""
        lease = await self._etcd.grant(self._ttl_s)
        point("leader.campaign.granted")
        result = await self._etcd.txn(
            (Compare(self._key, "create", 0),),
            (Put(self._key, value, lease.lease_id), Get(self._key)),
            (Get(self._key),),
        )
        point("leader.campaign.won")
        found = result.gets[0]
        if found is None:
            raise Unavailable("the leader's office changed hands at this moment")
        if found.value != value:
            await self._etcd.revoke(lease.lease_id)
        return found

    async def _enter(self, mine: KeyValue) -> None:
        """Enter upon an office that this campaign has won, by this try or by one before."""
        self._lease_id = mine.lease
        self.epoch = mine.create_revision
        try:
            await self._renew()
        except Unavailable:
            self.epoch = None
            raise
        if not self.still_mine():
            self.epoch = None
            raise Unavailable("the lease of the office ran out at once")

    async def _renew(self) -> None:
        """Renew the lease, and look whether the office is still there.

        etcd before 3.4.38 and 3.5.23 may renew a lease that is revoked already, and an operator
        may delete the key: a leader with nothing to write would never find out.
        """
        sent_at = self._clock.monotonic()
        lease = await self._etcd.keep_alive(self._lease_id)
        in_office = await self._etcd.get(self._key)
        mine = in_office is not None and in_office.create_revision == self.epoch
        self._mine_until = sent_at + lease.ttl_s - MARGIN_S if mine and lease.ttl_s > 0 else 0.0

    async def _wait_for_vacancy(self, revision: int) -> None:
        """Wait until the leader key is deleted, or long enough that a look is due anyway."""
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(self._ttl_s),
                closing(self._etcd.watch(self._key, start_revision=revision + 1)) as watched,
            ):
                async for batch in watched:
                    if any(e.kind == "delete" and e.item.key == self._key for e in batch):
                        return
