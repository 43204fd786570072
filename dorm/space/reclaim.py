"""The way out of a full etcd, by hand: `dorm admin reclaim`.

No master can do it: etcd refuses every write of theirs, and none may stop a member. The order
matters. Deleting and compacting frees space inside the files, only a defragmentation makes them
smaller, and the alarm stays until it is taken back, member by member. What would lose history is
not done: without an archive nothing of the log is deleted, and with one only what `Retention` lets
go.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs

from dorm.clock import SystemClock
from dorm.etcd import EtcdClient, connect
from dorm.etcd.maintenance import Maintenance, Member
from dorm.files import SystemFiles
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.ports.etcd import Delete, Etcd, MemberStatus, Put
from dorm.space.archive import Archive
from dorm.space.levels import QUOTA_BYTES, Level, reckon
from dorm.space.retention import Retention
from events.errors import NoSpace, NotFound, Rejected, Unavailable
from events.text import memory, plural

Say = Callable[[str], None]

READER: Final = "reclaim"  # never written under
LOOKS_MAX: Final = 20
LOOK_S: Final = 0.25

_UNREACHABLE: Final = "etcd compacts and disarms for all, but each member defragments itself"


@attrs.frozen(kw_only=True)
class Order:
    """What the operator wants.

    Attributes:
        endpoints: Some members of etcd, as `host:port`.
        archive: The directory of the masters, absolute; empty: nothing of the log is deleted.
        keep_events: How many events stay in etcd, if an archive was named.
        quota_bytes: Of a member that does not tell its own.
    """

    endpoints: Sequence[str]
    cluster: str
    archive: str = ""
    keep_events: int = 0
    quota_bytes: int = QUOTA_BYTES


async def reclaim(order: Order, *, say: Say) -> None:
    """Make room as `Reclaim` does, over connections of its own.

    Raises:
        NotFound: That cluster has no log in this etcd, or there is no such directory.
        Unavailable: etcd, a member or the disk did not answer. Repeat the command.
        Rejected: etcd takes no write even now.
    """
    client, keys = connect(order.endpoints), Keys(order.cluster)
    maintenance = Maintenance(order.endpoints)
    try:
        retention = await _retention(order, client, keys) if order.archive else None
        run = Reclaim(client, keys, maintenance=maintenance, order=order, say=say)
        await run.run(retention)
    finally:
        await maintenance.close()
        await client.close()


async def _retention(order: Order, client: EtcdClient, keys: Keys) -> Retention:
    if await client.get(keys.segment_now) is None:
        hint = "name it with --cluster, and its etcd with --etcd"
        raise NotFound("has no log in this etcd", field="cluster", value=order.cluster, hint=hint)
    if not await asyncio.to_thread(Path(order.archive).is_dir):
        hint = "name the directory that the masters have as --archive, or make a new one"
        raise NotFound("is no directory", field="--archive", value=order.archive, hint=hint)
    return Retention(
        client,
        keys,
        log=EtcdLog(client, keys, producer=READER),
        archive=Archive(SystemFiles(), order.archive, cluster=order.cluster),
        clock=SystemClock(),
    )


class Reclaim:
    """One run. Every step may be done again, so a run that broke off is simply repeated."""

    def __init__(
        self, etcd: Etcd, keys: Keys, *, maintenance: Maintenance, order: Order, say: Say
    ) -> None:
        """Take the two ways to etcd; `say` is told each thing that was done."""
        self._etcd, self._keys, self._maintenance = etcd, keys, maintenance
        self._order, self._say = order, say

    async def run(self, retention: Retention | None) -> None:
        """Make room, and prove it by a write.

        Raises:
            Unavailable: etcd or a member did not answer. Repeat the command.
            Rejected: etcd takes no write even now.
        """
        members = await self._reachable()
        before = await self._statuses(members)
        self._say(f"etcd is at {self._space(before)}")
        await self._shrink_log(retention)
        await self._compact()
        await self._defragment(members, before)
        await self._disarm(members)
        await self._verify()
        after = await self._settled(members)
        self._say(f"etcd takes writes again, and is at {self._space(after)}")
        if reckon(after.values(), quota_bytes=self._order.quota_bytes).level > Level.ROOMY:
            self._say(
                "NOTE: that will not last. Keep fewer events (--keep-events, with --archive), or "
                "give every member more with --quota-backend-bytes"
            )

    async def _reachable(self) -> tuple[Member, ...]:
        """Return all members, the leader last; refuse to begin without one of them."""
        members = await self._maintenance.members()
        leader_id = 0
        for member in members:
            try:
                status = await self._maintenance.status(member)
            except Unavailable as error:
                raise Unavailable(
                    f"member {member.name or member.member_id} does not answer at "
                    f"{member.endpoint or 'any address'}: {error}; {_UNREACHABLE}"
                ) from error
            leader_id = status.leader_id or leader_id
        return tuple(sorted(members, key=lambda one: (one.member_id == leader_id, one.name)))

    async def _statuses(self, members: Sequence[Member]) -> dict[str, MemberStatus]:
        return {one.name: await self._maintenance.status(one) for one in members}

    async def _settled(self, members: Sequence[Member]) -> dict[str, MemberStatus]:
        """Return the statuses once every member knows that its alarm is taken back, or soon."""
        statuses = await self._statuses(members)
        for _ in range(LOOKS_MAX):
            if not any(status.no_space for status in statuses.values()):
                break
            await asyncio.sleep(LOOK_S)
            statuses = await self._statuses(members)
        return statuses

    def _space(self, statuses: dict[str, MemberStatus]) -> str:
        return str(reckon(statuses.values(), quota_bytes=self._order.quota_bytes))

    async def _shrink_log(self, retention: Retention | None) -> None:
        if retention is None:
            self._say("no --archive was named, so nothing of the log is deleted")
            return
        while (segment := await retention.archive_next()) is not None:
            self._say(f"segment {segment} is archived")
        dropped = 0
        while (
            segment := await retention.drop_next(keep_events=self._order.keep_events, fence=None)
        ) is not None:
            self._say(f"segment {segment} is verified in the archive, and deleted from etcd")
            dropped += 1
        if retention.blocked:
            blocked = retention.blocked
            self._say(f"segment {blocked.segment} stays: {blocked.reason}")
        elif not dropped:
            self._say(
                f"nothing of the log is deleted: it holds not many more than "
                f"{plural(self._order.keep_events, 'event')}"
            )

    async def _compact(self) -> None:
        revision = (await self._etcd.range(self._keys.leader, limit=1)).revision
        try:
            await self._maintenance.compact(revision)
        except Rejected:  # It was compacted to here already.
            self._say(f"the history of etcd is compacted to revision {revision} already")
            return
        self._say(f"the history of etcd is compacted to revision {revision}")

    async def _defragment(self, members: Sequence[Member], before: dict[str, MemberStatus]) -> None:
        for member in members:
            await self._maintenance.defragment(member)
            old, new = before[member.name], await self._maintenance.status(member)
            self._say(
                f"member {member.name} at {member.endpoint} is defragmented: "
                f"{memory(old.db_bytes)} -> {memory(new.db_bytes)}"
            )

    async def _disarm(self, members: Sequence[Member]) -> None:
        names = {member.member_id: member.name for member in members}
        for alarm in await self._maintenance.alarms():
            if not alarm.is_no_space:
                self._say(f"{alarm.name} of member {alarm.member_id} is left: it is another matter")
                continue
            await self._maintenance.disarm(alarm)
            name = names.get(alarm.member_id, str(alarm.member_id))
            self._say(f"the alarm {alarm.name} of member {name} is taken back")

    async def _verify(self) -> None:
        """Write and delete a key of our own."""
        key = self._keys.reclaimed
        try:
            await self._etcd.txn((), (Put(key, b""),))
        except NoSpace as error:
            raise Rejected(
                "is still full, although every file is as small as it can be",
                field="etcd",
                hint="restart every member with a larger --quota-backend-bytes, and reclaim again; "
                "or keep fewer events, with --archive DIR --keep-events N",
            ) from error
        await self._etcd.txn((), (Delete(key),))
