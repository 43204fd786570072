"""The agent's place in the cluster: a key under a lease, and the node's tenure beside it.

Losing the lease is no news to containers: etcd revokes leases of healthy agents now and then. The
agent registers again, under the same tenure, and goes on. Only when its tenure was ended is
everything over that it ran.
"""

import asyncio
from contextlib import suppress

import attrs
import structlog

from dorm.agent.memory import Memory
from dorm.agent.world import RENEWAL_MAX_S, World
from dorm.failpoints import point
from dorm.keys import Keys
from dorm.ports import Compare, Delete, Get, KeyValue, Put, TxnResult
from dorm.tenure import TenureRecord
from events.codec import from_json, to_json
from events.errors import Corrupt, Rejected, Unavailable

_log = structlog.get_logger()


class TenureOver(Exception):
    """Masters ended the node's tenure: end what runs, and begin anew."""


@attrs.frozen(kw_only=True)
class Holder:
    """The value of a node key.

    Attributes:
        agent_id: Of the state directory, so the same for every start of one agent.
        incarnation: New at each start.
    """

    agent_id: str
    incarnation: str
    api_url: str = ""


class Registration:
    """Holds the node key and the tenure, for as long as the agent lives.

    Attributes:
        held: Set from the first time on that the key was held, unless another agent took it.
        lease_id: 0 while there is none.
        wrote: The key that was written last, and the revision of that: proof of a history.
    """

    def __init__(  # noqa: PLR0913 - who it is, and what it may claim
        self,
        world: World,
        *,
        cluster: str,
        node_id: str,
        holder: Holder,
        tenure: TenureRecord | None,
        memory: Memory,
        ttl_s: float,
    ) -> None:
        """Take who registers; without a tenure the node cannot be fenced.

        Of tenures that are cleared, by the memory, nothing is left on this machine.
        """
        self.held = asyncio.Event()
        self.lease_id = 0
        self.wrote: tuple[str, int] | None = None
        self._etcd, self._clock = world.etcd, world.clock
        self._backoff = world.backoff(max_s=RENEWAL_MAX_S)
        keys = Keys(cluster)
        self._nothing = keys.nothing
        self._key, self._tenure_key, self._node_id = (
            keys.node(node_id),
            keys.tenure(node_id),
            node_id,
        )
        self._holder, self._ttl_s = holder, ttl_s
        self._tenure, self._memory, self._cleared = tenure, memory, memory.now.cleared
        self._create_revision, self._tenure_revision, self._away_until = 0, 0, 0.0

    async def run(self) -> None:
        """Register, keep the lease alive, and register again when it is lost, for ever.

        Raises:
            TenureOver: Masters ended the tenure.
        """
        while True:
            if self._clock.monotonic() < self._away_until:
                await self._backoff.wait()
                continue
            try:
                if await self._register():
                    self._backoff.reset()
                    await self._keep_alive()
                else:
                    await self._backoff.wait()
            except (Unavailable, Rejected) as error:
                _log.warning("registration.waits", node_id=self._node_id, reason=str(error))
                await self._backoff.wait()

    async def withdraw(self) -> None:
        """Give the node's key up for a while, so that masters see a node that is of no use.

        Its lease would say that all is well, and its containers would stay frozen for ever.
        """
        lease_id, self.lease_id = self.lease_id, 0
        self._away_until = self._clock.monotonic() + self._ttl_s
        _log.error("registration.withdrawn", node_id=self._node_id)
        with suppress(Unavailable):
            await self._etcd.revoke(lease_id)

    async def put(self, key: str, value: bytes, *reads: Get) -> TxnResult | None:
        """Write a key of the present under the lease, while node key and tenure are as left.

        Returns what was read in the same transaction, or None when they are not: `run` finds out.

        Raises:
            Unavailable: The outcome is unknown; the next write replaces this one anyway.
        """
        try:
            written = await self._etcd.txn(self._guards(), [Put(key, value, self.lease_id), *reads])
        except Rejected:  # The lease went a moment ago.
            written = None
        if written is None or not written.succeeded:
            self.lease_id = 0
            return None
        self.wrote = key, written.revision
        return written

    async def stands(self) -> bool:
        """Return whether node key and tenure are as left, for a time without room to write.

        A full etcd still deletes, and a delete goes through its log as a put does. What is deleted
        here never exists, so nothing changes.

        Raises:
            Unavailable: The outcome is unknown.
        """
        answer = await self._etcd.txn(self._guards(), [Delete(self._nothing)])
        if not answer.succeeded:
            self.lease_id = 0
        return answer.succeeded

    def _guards(self) -> list[Compare]:
        guards = [Compare(self._key, "create", self._create_revision)]
        if self._tenure is not None:
            guards.append(Compare(self._tenure_key, "mod", self._tenure_revision))
        return guards

    async def _register(self) -> bool:
        """Return whether the node key is held. Reads both keys at one revision."""
        node, right = (await self._etcd.txn([], [Get(self._key), Get(self._tenure_key)])).gets
        if node is not None and not self._is_ours(node):
            self._refused("another agent holds this node's name; give one of them another --node")
            return False
        record = from_json(right.value, TenureRecord) if right else None
        ours = {self._tenure.tenure, *self._cleared} if self._tenure else set()
        if record is not None and record.tenure not in ours:
            if not record.closed:
                self._refused(
                    "another agent held this node's name, and may run containers under it until "
                    "masters have fenced it off; that takes some seconds once it is silent"
                )
                return False
            if self._tenure is not None and self._memory.now.tenure_held:
                raise TenureOver  # Ours was over before that one could begin.
        if self._tenure is None or record == self._tenure:
            return await self._take(node, right, puts=[])
        if record is not None and record.tenure == self._tenure.tenure and record.ended:
            raise TenureOver
        await self._memory.hold_tenure()
        return await self._take(node, right, puts=[Put(self._tenure_key, to_json(self._tenure))])

    async def _take(
        self, node: KeyValue | None, right: KeyValue | None, *, puts: list[Put]
    ) -> bool:
        lease = await self._etcd.grant(self._ttl_s)
        point("agent.register.granted")
        result = await self._etcd.txn(
            [
                Compare(self._key, "mod", node.mod_revision if node else 0),
                Compare(self._tenure_key, "mod", right.mod_revision if right else 0),
            ],
            [Put(self._key, to_json(self._holder), lease.lease_id), *puts],
        )
        if not result.succeeded:
            return False
        point("agent.register.written")
        self._create_revision = node.create_revision if node else result.revision
        self._tenure_revision = result.revision if puts else right.mod_revision if right else 0
        self.lease_id, self.wrote = lease.lease_id, (self._key, result.revision)
        self.held.set()
        _log.info("registration.held", node_id=self._node_id, lease_id=lease.lease_id)
        return True

    async def _keep_alive(self) -> None:
        while self.lease_id:  # Ends when the lease or the key is gone.
            await self._clock.sleep(self._ttl_s / 5)
            if not self.lease_id:
                break
            try:
                renewed = await self._etcd.keep_alive(self.lease_id)
            except Unavailable as error:
                _log.warning("registration.unanswered", reason=str(error))
                await self._backoff.wait()
                continue
            self._backoff.reset()
            if renewed.ttl_s <= 0:
                _log.warning("registration.lost", node_id=self._node_id, lease_id=self.lease_id)
                self.lease_id = 0

    def _refused(self, reason: str) -> None:
        self.held.clear()
        _log.error("registration.refused", node_id=self._node_id, reason=reason)

    def _is_ours(self, found: KeyValue) -> bool:
        try:
            return from_json(found.value, Holder).agent_id == self._holder.agent_id
        except Corrupt:
            return False
