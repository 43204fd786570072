"""A connection to etcd that loses what a test tells it to lose."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Literal

from dorm.ports.etcd import (
    Compare,
    Etcd,
    KeyValue,
    Lease,
    MemberStatus,
    Operation,
    RangeResult,
    TxnResult,
    WatchEvent,
)
from events.errors import Unavailable

Loss = Literal["request", "reply"]


class LossyEtcd:
    """An `Etcd` whose next transactions that write lose their request or their reply.

    Attributes:
        losses: What happens to each of the next writes, in turn.
        lost: The requests that never arrived, for a test to deliver late.
        cut: Whether nothing comes through at all.
    """

    def __init__(self, etcd: Etcd) -> None:
        self.losses: deque[Loss] = deque()
        self.lost: list[tuple[Sequence[Compare], Sequence[Operation], Sequence[Operation]]] = []
        self.cut = False
        self._etcd = etcd

    async def deliver_late(self) -> list[TxnResult]:
        """Let every lost request arrive now."""
        requests, self.lost = self.lost, []
        return [await self._etcd.txn(*request) for request in requests]

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        self._check()
        loss = self.losses.popleft() if self.losses and compares else None
        if loss == "request":
            self.lost.append((compares, success, failure))
            raise Unavailable("the request was lost")
        result = await self._etcd.txn(compares, success, failure)
        if loss == "reply":
            raise Unavailable("the reply was lost")
        return result

    async def get(self, key: str) -> KeyValue | None:
        """See `Etcd`."""
        self._check()
        return await self._etcd.get(key)

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        self._check()
        return await self._etcd.range(prefix, start=start, limit=limit, keys_only=keys_only)

    async def grant(self, ttl_s: float) -> Lease:
        """See `Etcd`."""
        self._check()
        return await self._etcd.grant(ttl_s)

    async def keep_alive(self, lease_id: int) -> Lease:
        """See `Etcd`."""
        self._check()
        return await self._etcd.keep_alive(lease_id)

    async def revoke(self, lease_id: int) -> None:
        """See `Etcd`."""
        self._check()
        await self._etcd.revoke(lease_id)

    async def compact(self, revision: int) -> None:
        """See `Etcd`."""
        self._check()
        await self._etcd.compact(revision)

    async def members(self) -> tuple[int, ...]:
        """See `Etcd`."""
        return await self._etcd.members()

    async def status(self) -> tuple[MemberStatus, ...]:
        """See `Etcd`."""
        return await self._etcd.status()

    async def watch(
        self, prefix: str, *, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`. Breaks at the next batch once the connection is cut."""
        async for batch in self._etcd.watch(prefix, start_revision=start_revision):
            self._check()
            yield batch

    def _check(self) -> None:
        if self.cut:
            raise Unavailable("the connection is cut")
