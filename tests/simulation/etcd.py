"""The etcd port as one process has it: three members behind an unreliable network.

It tries as the real client does (`dorm.etcd.channels`): one member, for a moment, then the next. So
a transaction whose answer was lost is sent again, and its caller may only learn that it failed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar, cast

from dorm.ports.etcd import (
    Compare,
    KeyValue,
    Lease,
    MemberStatus,
    Operation,
    RangeResult,
    TxnResult,
    WatchEvent,
)
from events.errors import Unavailable
from tests.simulation.etcd_members import IDS
from tests.simulation.etcd_network import TRY_S, Connection, NetworkFaults, Try
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.etcd_watch import SimWatch
from tests.simulation.process import Process

__all__ = ["NetworkFaults", "SimEtcdClient"]

RANGE_TRY_S: Final = 3.0  # these are the real client's (`dorm.etcd.channels`, `dorm.etcd.client`)
TOTAL_S: Final = 10.0
BACKOFF_S_MIN: Final = 0.02
BACKOFF_S_MAX: Final = 0.5

T = TypeVar("T")


class SimEtcdClient:
    """An `Etcd` with the faults that a network and a cluster of members have."""

    def __init__(self, store: EtcdStore, process: Process, faults: NetworkFaults) -> None:
        """Connect a process to the store."""
        self._store, self._process = store, process
        self._way = Connection(store, process, faults)

    async def get(self, key: str) -> KeyValue | None:
        """See `Etcd`."""
        return await self._call(lambda: self._store.get(key))

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        return await self._call(
            lambda: self._store.range(prefix, start, limit, keys_only=keys_only), try_s=RANGE_TRY_S
        )

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        request = tuple(compares), tuple(success), tuple(failure)
        return await self._call(lambda: self._store.txn(*request))

    async def grant(self, ttl_s: float) -> Lease:
        """See `Etcd`."""
        return await self._call(lambda: self._store.grant(ttl_s))

    async def keep_alive(self, lease_id: int) -> Lease:
        """See `Etcd`."""
        return await self._call(lambda: self._store.keep_alive(lease_id))

    async def revoke(self, lease_id: int) -> None:
        """See `Etcd`."""
        await self._call(lambda: self._store.revoke(lease_id))

    async def compact(self, revision: int) -> None:
        """See `Etcd`."""
        await self._call(lambda: self._store.compact(revision), try_s=RANGE_TRY_S)

    async def members(self) -> tuple[int, ...]:
        """See `Etcd`."""
        return await self._call(lambda: IDS)

    async def status(self) -> tuple[MemberStatus, ...]:
        """See `Etcd`. Members answer without quorum too, each for itself."""
        await self._process.gate()
        answering = [one for one in self._way.members.all if self._way.reaches(one)]
        mute = any(one.up and one not in answering for one in self._way.members.all)
        await asyncio.sleep(TRY_S if mute else self._way.latency())
        found = tuple(self._store.status(one) for one in answering if self._way.reaches(one))
        await self._process.gate()
        return found

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return SimWatch(self._way, prefix, start_revision)

    async def _call(self, request: Callable[[], T], *, try_s: float = TRY_S) -> T:
        """Try one member after the other until one answers, as `Channels.call` does."""
        way, process, loop = self._way, self._process, asyncio.get_running_loop()
        await process.gate()
        ends_at, backoff_s = loop.time() + TOTAL_S, BACKOFF_S_MIN
        while True:  # Ends at `ends_at` at the latest.
            index = way.now
            attempt = Try(way, way.members.all[index], request, try_s)
            answer = await attempt.answer
            await process.gate()
            if answer is not None:
                value, error = answer
                if error is not None:
                    raise error
                return cast("T", value)  # What the request has returned.
            if loop.time() + try_s > ends_at:
                raise Unavailable("etcd did not answer in time")
            way.leave(index)
            await asyncio.sleep(backoff_s * process.random.random())
            backoff_s = min(backoff_s * 2, BACKOFF_S_MAX)
            await process.gate()
