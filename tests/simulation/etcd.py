"""The etcd port as one process has it: the store behind an unreliable network."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar

import attrs

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
from events.errors import DormError, Unavailable
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.process import Process

DEADLINE_S: Final = 3.0
SILENCE_S: Final = 3.0

T = TypeVar("T")


@attrs.define
class NetworkFaults:
    """How bad the network between processes and etcd is; all are probabilities of a call.

    Attributes:
        lost_request: The request never arrives.
        lost_reply: The request is carried out, and the caller cannot know.
        late_commit: A lost request arrives after all, seconds later.
        slow: The call takes long, within its deadline.
        broken_watch: A watch breaks, at each batch it yields.
    """

    lost_request: float = 0.0
    lost_reply: float = 0.0
    late_commit: float = 0.0
    slow: float = 0.0
    broken_watch: float = 0.0

    def become(self, other: "NetworkFaults") -> None:
        """Take the other's probabilities, for every client at once."""
        for field in attrs.fields(NetworkFaults):
            setattr(self, field.name, getattr(other, field.name))


class SimEtcdClient:
    """An `Etcd` with the faults that a network and a cluster of members have."""

    def __init__(self, store: EtcdStore, process: Process, faults: NetworkFaults) -> None:
        """Connect a process to the store."""
        self._store, self._process, self._faults = store, process, faults

    async def get(self, key: str) -> KeyValue | None:
        """See `Etcd`."""
        return await self._call(lambda: self._store.get(key))

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        return await self._call(
            lambda: self._store.range(prefix, start, limit, keys_only=keys_only)
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
        await self._call(lambda: self._store.compact(revision))

    async def members(self) -> tuple[int, ...]:
        """See `Etcd`."""
        return await self._call(lambda: self._store.members)

    async def status(self) -> tuple[MemberStatus, ...]:
        """See `Etcd`. Members answer without quorum too."""
        await self._process.gate()
        await asyncio.sleep(self._latency())
        await self._process.gate()
        return () if self._process.cut else (self._store.status(),)

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return _Watch(self, prefix, start_revision)

    @property
    def _reachable(self) -> bool:
        return self._store.quorum and not self._process.cut

    def _chance(self, probability: float) -> bool:
        return probability > 0 and self._process.random.random() < probability

    def _latency(self) -> float:
        slow = self._chance(self._faults.slow)
        return self._process.random.uniform(0.02, 1.2) if slow else self._fast()

    def _fast(self) -> float:
        return self._process.random.uniform(0.001, 0.02)

    async def _call(self, request: Callable[[], T]) -> T:
        await self._process.gate()
        await asyncio.sleep(self._latency())
        if not self._reachable or self._chance(self._faults.lost_request):
            if not self._process.cut and self._chance(self._faults.late_commit):
                self._arrive_later(request)
            raise await self._timeout("the request was lost")
        try:
            answer = request()
        except DormError:
            await self._back()
            raise
        if self._chance(self._faults.lost_reply):
            raise await self._timeout("the reply was lost")
        await self._back()
        return answer

    async def _back(self) -> None:
        await asyncio.sleep(self._latency())
        await self._process.gate()

    async def _timeout(self, why: str) -> Unavailable:
        await asyncio.sleep(DEADLINE_S)
        await self._process.gate()
        return Unavailable(f"etcd did not answer: {why}")

    def _arrive_later(self, request: Callable[[], object]) -> None:
        """Let a lost request arrive after all, as a proposal does that was stuck in raft's log."""

        def arrive() -> None:
            if not self._store.quorum:
                self._arrive_later(request)
                return
            try:
                request()
            except DormError:
                return  # Nobody waits for this answer any more.

        delay = self._process.random.uniform(DEADLINE_S, 20.0)
        asyncio.get_running_loop().call_later(delay, arrive)


class _Watch:
    """One watch stream. It breaks when the process is cut off or quorum is lost for a while."""

    def __init__(self, client: SimEtcdClient, prefix: str, start_revision: int) -> None:
        self._client, self._prefix, self._next = client, prefix, start_revision
        self._broken = False

    def __aiter__(self) -> "_Watch":
        return self

    async def __anext__(self) -> tuple[WatchEvent, ...]:
        client = self._client
        await client._process.gate()
        if self._broken:
            raise StopAsyncIteration
        await asyncio.sleep(client._latency())
        batch: tuple[WatchEvent, ...] = ()
        if client._reachable:
            batch = await self._next_batch()
        if not client._reachable or client._chance(client._faults.broken_watch):
            self._broken = True
            await asyncio.sleep(SILENCE_S)
            await client._process.gate()
            raise Unavailable("the watch went silent")
        await client._process.gate()
        return batch

    async def aclose(self) -> None:
        """Give the stream back; it holds nothing."""
        self._broken = True

    async def _next_batch(self) -> tuple[WatchEvent, ...]:
        """Return what changed; nothing after a while, to show that the stream is alive."""
        store = self._client._store
        alive_until = asyncio.get_running_loop().time() + SILENCE_S
        while self._client._reachable:  # Ends at `alive_until` at the latest.
            batch, self._next = store.changes(self._prefix, self._next)
            if batch:
                return batch
            try:
                async with asyncio.timeout_at(alive_until):
                    await store.change()
            except TimeoutError:
                break
        return ()
