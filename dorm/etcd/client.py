"""The `Etcd` port on a real cluster."""

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import grpc
from grpc.aio import AioRpcError

from dorm.etcd import faults, requests
from dorm.etcd.channels import METADATA, TOTAL_S, TRY_S, Channels
from dorm.etcd.stubs import Stubs, etcdrpc
from dorm.etcd.values import key_value
from dorm.etcd.watch import watch
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

RANGE_TRY_S: Final = 3.0  # a page of a thousand keys takes longer than one transaction
COMPACTED: Final = "has been compacted"
NO_SPACE_ALARM: Final = (
    "alarm:NOSPACE"  # in the words of Status (etcdserver/api/v3rpc/maintenance.go)
)


def connect(
    endpoints: Sequence[str],
    *,
    credentials: grpc.ChannelCredentials | None = None,
    total_s: float = TOTAL_S,
) -> "EtcdClient":
    """Return a client of a cluster. Call it inside the event loop that will use it.

    Args:
        endpoints: Of its members, as `host:port`.
        credentials: For TLS; plain connections without.
        total_s: How long a call may take in all, over all endpoints.
    """
    return EtcdClient(Channels(endpoints, credentials=credentials, total_s=total_s))


class EtcdClient:
    """See `dorm.ports.etcd.Etcd`.

    All calls run on grpc's asyncio channels. With 8 callers they were measured at 2,000 to 2,400
    transactions a second, and blocking calls in a thread pool at 1,200 to 1,400.
    """

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._ranges = requests.Ranges()

    async def get(self, key: str) -> KeyValue | None:
        """See `Etcd`."""
        request = self._ranges.request(key)
        answer = await self._channels.call(
            f"get {key}", lambda stubs, try_s: _unary(stubs.kv.Range, request, try_s)
        )
        return key_value(answer.kvs[0]) if answer.kvs else None

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        request = self._ranges.request(
            max(start, prefix), requests.end_of(prefix), limit=limit, keys_only=keys_only
        )
        answer = await self._channels.call(
            f"range {prefix}",
            lambda stubs, try_s: _unary(stubs.kv.Range, request, try_s),
            try_s=RANGE_TRY_S,
        )
        items = tuple(key_value(item) for item in answer.kvs)
        return RangeResult(items=items, revision=answer.header.revision, more=answer.more)

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        request = requests.txn(compares, success, failure)
        answer = await self._channels.call(
            "a transaction", lambda stubs, try_s: _unary(stubs.kv.Txn, request, try_s)
        )
        return TxnResult(
            succeeded=answer.succeeded,
            revision=answer.header.revision,
            gets=tuple(
                key_value(response.response_range.kvs[0]) if response.response_range.kvs else None
                for response in answer.responses
                if response.HasField("response_range")
            ),
        )

    async def grant(self, ttl_s: float) -> Lease:
        """See `Etcd`. etcd counts whole seconds, and knows a least one."""
        request = etcdrpc.LeaseGrantRequest(TTL=math.ceil(ttl_s))
        answer = await self._channels.call(
            "a lease", lambda stubs, try_s: _unary(stubs.lease.LeaseGrant, request, try_s)
        )
        return Lease(lease_id=answer.ID, ttl_s=answer.TTL)

    async def keep_alive(self, lease_id: int) -> Lease:
        """See `Etcd`."""
        answer = await self._channels.call(
            "a keep-alive", lambda stubs, try_s: _keep_alive_once(stubs, lease_id, try_s)
        )
        return Lease(lease_id=lease_id, ttl_s=answer.TTL)

    async def revoke(self, lease_id: int) -> None:
        """See `Etcd`."""
        request = etcdrpc.LeaseRevokeRequest(ID=lease_id)

        async def revoke_once(stubs: Stubs, try_s: float) -> None:
            try:
                await _unary(stubs.lease.LeaseRevoke, request, try_s)
            except AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:
                    raise

        await self._channels.call("a revoke", revoke_once)

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return watch(self._channels, prefix, start_revision=start_revision)

    async def compact(self, revision: int) -> None:
        """See `Etcd`."""
        request = etcdrpc.CompactionRequest(revision=revision)

        async def compact_once(stubs: Stubs, try_s: float) -> None:
            try:
                await _unary(stubs.kv.Compact, request, try_s)
            except AioRpcError as error:
                if COMPACTED not in faults.details(error):
                    raise

        await self._channels.call("a compaction", compact_once, try_s=RANGE_TRY_S)

    async def members(self) -> tuple[int, ...]:
        """See `Etcd`."""
        answer = await self._channels.call(
            "the list of members",
            lambda stubs, try_s: _unary(
                stubs.cluster.MemberList, etcdrpc.MemberListRequest(), try_s
            ),
        )
        return tuple(sorted(member.ID for member in answer.members))

    async def status(self) -> tuple[MemberStatus, ...]:
        """See `Etcd`."""
        members = zip(self._channels.endpoints, self._channels.stubs, strict=True)
        found = await asyncio.gather(*(_status(endpoint, stubs) for endpoint, stubs in members))
        return tuple(status for status in found if status is not None)

    async def close(self) -> None:
        """Give the connections back."""
        await self._channels.close()


async def _unary(method: Any, request: Any, try_s: float) -> Any:  # noqa: ANN401 - grpc has no types for these
    return await method(request, timeout=try_s, metadata=METADATA)


async def _keep_alive_once(stubs: Stubs, lease_id: int, try_s: float) -> Any:  # noqa: ANN401 - a message
    """Send one request on a stream of its own, and return the one answer."""
    request = etcdrpc.LeaseKeepAliveRequest(ID=lease_id)
    call = stubs.lease.LeaseKeepAlive(iter((request,)), timeout=try_s, metadata=METADATA)
    try:
        answer = await call.read()
        if answer is grpc.aio.EOF:
            raise Unavailable("etcd ended a keep-alive without an answer")
        return answer
    finally:
        call.cancel()


async def _status(endpoint: str, stubs: Stubs) -> MemberStatus | None:
    try:
        answer = await _unary(stubs.maintenance.Status, etcdrpc.StatusRequest(), TRY_S)
    except AioRpcError:
        return None
    return member_status(endpoint, answer)


def member_status(endpoint: str, answer: Any) -> MemberStatus:  # noqa: ANN401 - a message
    """Return what a member answered for its status as a value of ours."""
    return MemberStatus(
        endpoint=endpoint,
        version=answer.version,
        cluster_id=answer.header.cluster_id,
        member_id=answer.header.member_id,
        leader_id=answer.leader,
        revision=answer.header.revision,
        db_bytes=answer.dbSize,
        in_use_bytes=answer.dbSizeInUse,
        quota_bytes=answer.dbSizeQuota,
        no_space=any(NO_SPACE_ALARM in error for error in answer.errors),
    )
