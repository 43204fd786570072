"""The agent's place in the cluster: a key under a lease. Heartbeats are leases, never events.

Losing the lease is no news to containers: etcd revokes leases of healthy agents now and then. The
agent registers again, as the same incarnation, and goes on.
"""

import asyncio

import attrs
import structlog

from dorm.agent.world import World
from dorm.keys import Keys
from dorm.ports import Compare, KeyValue, Put
from events.codec import from_json, to_json
from events.errors import Corrupt, Rejected, Unavailable

_log = structlog.get_logger()


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
    """Holds the node key, for as long as the agent lives.

    Attributes:
        held: Set from the first time on that the key was held, unless another agent took it.
        lease_id: 0 while there is none.
        create_revision: Of the key as held; every other write of the agent compares it.
        wrote: The key that was written last, and the revision of that: proof of a history.
    """

    def __init__(
        self, world: World, *, cluster: str, node_id: str, holder: Holder, ttl_s: float
    ) -> None:
        self.held = asyncio.Event()
        self.lease_id = 0
        self.create_revision = 0
        self.wrote: tuple[str, int] | None = None
        self._etcd, self._clock, self._backoff = world.etcd, world.clock, world.backoff()
        self._key, self._node_id = Keys(cluster).node(node_id), node_id
        self._holder, self._ttl_s = holder, ttl_s

    async def run(self) -> None:
        """Register, keep the lease alive, and register again when it is lost, for ever."""
        while True:
            try:
                if await self._register():
                    self._backoff.reset()
                    await self._keep_alive()
                else:
                    await self._backoff.wait()
            except (Unavailable, Rejected) as error:
                _log.warning("registration.waits", node_id=self._node_id, reason=str(error))
                await self._backoff.wait()

    async def put(self, key: str, value: bytes) -> bool:
        """Write a key of the present under the lease; returns whether the node key was still held.

        Raises:
            Unavailable: The outcome is unknown; the next write replaces this one anyway.
        """
        guard = Compare(self._key, "create", self.create_revision)
        try:
            written = await self._etcd.txn([guard], [Put(key, value, self.lease_id)])
        except Rejected:  # The lease went a moment ago.
            return False
        if written.succeeded:
            self.wrote = key, written.revision
        return written.succeeded

    def lost(self) -> None:
        """Register again: a guarded write has shown that the key is not as we left it."""
        self.lease_id = 0

    async def _register(self) -> bool:
        found = await self._etcd.get(self._key)
        if found is not None and not self._is_ours(found):
            self.held.clear()
            _log.error(
                "registration.refused",
                node_id=self._node_id,
                reason="another agent holds this node's name; give one of them another --node",
            )
            return False
        lease = await self._etcd.grant(self._ttl_s)
        guard = (
            Compare(self._key, "create", 0)
            if found is None
            else Compare(self._key, "mod", found.mod_revision)
        )
        value = to_json(self._holder)
        result = await self._etcd.txn([guard], [Put(self._key, value, lease.lease_id)])
        if not result.succeeded:
            return False
        self.create_revision = result.revision if found is None else found.create_revision
        self.lease_id, self.wrote = lease.lease_id, (self._key, result.revision)
        self.held.set()
        _log.info("registration.held", node_id=self._node_id, lease_id=lease.lease_id)
        return True

    async def _keep_alive(self) -> None:
        while self.lease_id:  # Ends when the lease or the key is gone.
            await self._clock.sleep(self._ttl_s / 3)
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
                self.lost()

    def _is_ours(self, found: KeyValue) -> bool:
        try:
            return from_json(found.value, Holder).agent_id == self._holder.agent_id
        except Corrupt:
            return False
