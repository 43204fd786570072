"""The etcd port as one process has it: three members behind an unreliable network.

It tries as the real client does (`dorm.etcd.channels`): one member, for a moment, then the next. So
a transaction whose answer was lost is sent again, and its caller may only learn that it failed.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeVar, cast

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
from tests.simulation.etcd_members import IDS, Member
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.process import Process

TRY_S: Final = 0.7  # these are the real client's (`dorm.etcd.channels`, `dorm.etcd.client`)
RANGE_TRY_S: Final = 3.0
TOTAL_S: Final = 10.0
BACKOFF_S_MIN: Final = 0.02
BACKOFF_S_MAX: Final = 0.3
SILENCE_S: Final = 3.0
LATE_S_MAX: Final = 20.0

T = TypeVar("T")
_Answer = tuple[object, DormError | None] | None


@attrs.define
class NetworkFaults:
    """How bad the network between processes and etcd is; all are probabilities of one try.

    Attributes:
        lost_request: The request never arrives.
        lost_reply: The request is carried out, and the caller cannot know.
        late_commit: A lost request arrives after all, seconds later.
        slow: The try takes long, within its deadline or past it.
        broken_watch: A watch breaks, at each batch it yields.
        counts: How often each of them has happened.
    """

    lost_request: float = 0.0
    lost_reply: float = 0.0
    late_commit: float = 0.0
    slow: float = 0.0
    broken_watch: float = 0.0
    counts: Counter[str] = attrs.field(factory=Counter, kw_only=True)

    def become(self, other: "NetworkFaults") -> None:
        """Take the other's probabilities, for every client at once."""
        for name in ("lost_request", "lost_reply", "late_commit", "slow", "broken_watch"):
            setattr(self, name, getattr(other, name))


class SimEtcdClient:
    """An `Etcd` with the faults that a network and a cluster of members have."""

    def __init__(self, store: EtcdStore, process: Process, faults: NetworkFaults) -> None:
        """Connect a process to the store."""
        self._store, self._process, self._faults = store, process, faults
        self._members = store.members
        self._now = process.random.randrange(len(IDS))

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
        answering = [one for one in self._members.all if self._reaches(one)]
        mute = any(one.up and one not in answering for one in self._members.all)
        await asyncio.sleep(TRY_S if mute else self._latency())
        found = tuple(self._store.status(one) for one in answering if self._reaches(one))
        await self._process.gate()
        return found

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return _Watch(self, prefix, start_revision)

    # The network

    def _reaches(self, member: Member) -> bool:
        return member.up and member.member_id not in self._process.cut_from

    def _happens(self, kind: str) -> bool:
        probability: float = getattr(self._faults, kind)
        if not probability or self._process.random.random() >= probability:
            return False
        self._faults.counts[kind.replace("_", " ")] += 1
        return True

    def _latency(self) -> float:
        slow = self._happens("slow")
        return self._process.random.uniform(*((0.02, 1.2) if slow else (0.001, 0.02)))

    async def _call(self, request: Callable[[], T], *, try_s: float = TRY_S) -> T:
        """Try one member after the other until one answers, as `Channels.call` does."""
        process, loop = self._process, asyncio.get_running_loop()
        await process.gate()
        ends_at, backoff_s = loop.time() + TOTAL_S, BACKOFF_S_MIN
        while True:  # Ends at `ends_at` at the latest.
            index = self._now
            attempt = _Try(self, self._members.all[index], request, try_s)
            answer = await attempt.answer
            await process.gate()
            if answer is not None:
                value, error = answer
                if error is not None:
                    raise error
                return cast("T", value)  # What the request has returned.
            if loop.time() + try_s > ends_at:
                raise Unavailable("etcd did not answer in time")
            self._leave(index)
            await asyncio.sleep(backoff_s * process.random.random())
            backoff_s = min(backoff_s * 2, BACKOFF_S_MAX)
            await process.gate()

    def _leave(self, index: int) -> None:
        if self._now == index:
            self._now = (index + 1) % len(IDS)


class _Try:
    """One request on its way to one member and back. It goes on when its sender dies.

    Attributes:
        answer: Value and error; None when there is no answer in time.
    """

    def __init__(
        self, client: SimEtcdClient, member: Member, request: Callable[[], object], try_s: float
    ) -> None:
        self._client, self._member, self._request = client, member, request
        self._loop = asyncio.get_running_loop()
        self._gives_up_at = self._loop.time() + try_s
        self.answer: asyncio.Future[_Answer] = self._loop.create_future()
        if member.up or member.member_id in client._process.cut_from:
            self._loop.call_later(client._latency(), self._arrive)
        else:
            self._back(None)  # The connection is refused.

    def _arrive(self) -> None:
        client, member = self._client, self._member
        if not client._reaches(member):
            self._silence()
        elif not member.leader_id:
            self._back(None)  # As the metadata `hasleader` asks for: it says so at once.
        elif not client._members.serves(member) or client._happens("lost_request"):
            if client._happens("late_commit"):
                self._arrive_later()
            self._silence()
        else:
            outcome = self._carry_out()
            if client._happens("lost_reply"):
                self._silence()
            else:
                self._back(outcome)

    def _carry_out(self) -> _Answer:
        try:
            return self._request(), None
        except DormError as error:
            return None, error

    def _back(self, outcome: _Answer) -> None:
        at = self._loop.time() + self._client._latency()
        if at > self._gives_up_at:
            self._silence()
        else:
            self._loop.call_at(at, self._tell, outcome)

    def _silence(self) -> None:
        self._loop.call_at(self._gives_up_at, self._tell, None)

    def _tell(self, outcome: _Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(outcome)

    def _arrive_later(self) -> None:
        """Let a lost request arrive after all, as a proposal does that was stuck in raft's log."""
        delay_s = self._client._process.random.uniform(TRY_S, LATE_S_MAX)
        self._loop.call_later(delay_s, self._arrive_late)

    def _arrive_late(self) -> None:
        if self._client._members.leader is None:
            self._arrive_later()
        else:
            self._carry_out()  # Nobody waits for this answer any more.


class _Watch:
    """One watch stream, on one member. It breaks with the member, and when it is cut off."""

    def __init__(self, client: SimEtcdClient, prefix: str, start_revision: int) -> None:
        self._client, self._prefix, self._next = client, prefix, start_revision
        self._index = client._now
        self._broken = False

    def __aiter__(self) -> "_Watch":
        return self

    async def __anext__(self) -> tuple[WatchEvent, ...]:
        client = self._client
        await client._process.gate()
        if self._broken:
            raise StopAsyncIteration
        batch: tuple[WatchEvent, ...] = ()
        if self._serves():
            await self._wait()
            if self._serves():
                batch, self._next = client._store.changes(self._prefix, self._next)
        if not self._serves() or client._happens("broken_watch"):
            self._broken = True
            reset = not self._member.up
            await asyncio.sleep(client._latency() if reset else SILENCE_S)
            client._leave(self._index)
            await client._process.gate()
            raise Unavailable("the watch went silent")
        await client._process.gate()
        return batch

    async def aclose(self) -> None:
        """Give the stream back; it holds nothing."""
        self._broken = True

    @property
    def _member(self) -> Member:
        return self._client._members.all[self._index]

    def _serves(self) -> bool:
        client = self._client
        return client._reaches(self._member) and client._members.serves(self._member)

    async def _wait(self) -> None:
        """Wait for a change and its way here; not for ever, to show that the stream is alive."""
        loop, store = asyncio.get_running_loop(), self._client._store
        here = loop.create_future()

        def arrive() -> None:
            if not here.done():
                here.set_result(None)

        def ring() -> None:
            loop.call_later(self._client._latency(), arrive)

        alive = loop.call_later(SILENCE_S, arrive)
        if store.has_changes(self._prefix, self._next):
            ring()
        else:
            store.ring_at(self._prefix, ring)
        try:
            await here
        finally:
            alive.cancel()
            store.forget(self._prefix, ring)
