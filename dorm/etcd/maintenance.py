"""What an operator does to the members of etcd themselves: for `dorm admin reclaim` only.

Apart from the `Etcd` port, because no master and no agent may do any of this: a defragmentation
stops a member for as long as it takes.
"""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from dorm.etcd.channels import METADATA, Channels
from dorm.etcd.client import RANGE_TRY_S, member_status
from dorm.etcd.stubs import etcdrpc
from dorm.ports.etcd import MemberStatus
from events.errors import Unavailable

COMPACT_S: Final = 120.0
DEFRAGMENT_S: Final = 600.0  # a member copies its whole database meanwhile, and serves nobody
_SCHEMES: Final = ("http://", "https://")


@attrs.frozen(kw_only=True)
class Member:
    """One member of the cluster. `endpoint` is empty for one that has not started yet."""

    member_id: int
    name: str
    endpoint: str


@attrs.frozen(kw_only=True)
class Alarm:
    """An alarm in force. etcd raises it by itself, and never takes it back."""

    member_id: int
    kind: int

    @property
    def is_no_space(self) -> bool:
        """Return whether it says that the store is full."""
        return bool(self.kind == etcdrpc.NOSPACE)

    @property
    def name(self) -> str:
        """Return what etcd calls it."""
        return "NOSPACE" if self.is_no_space else f"alarm {self.kind}"


class Maintenance:
    """Calls to single members, each with a deadline, and to the cluster by any member."""

    def __init__(self, endpoints: Sequence[str]) -> None:
        """Take the known members; `members` finds the others."""
        self._any = Channels(endpoints, total_s=RANGE_TRY_S * 2)
        self._one: dict[str, Channels] = {}

    async def members(self) -> tuple[Member, ...]:
        """Return every member, in the order of their names.

        Raises:
            Unavailable: etcd does not answer.
        """
        request = etcdrpc.MemberListRequest()
        answer = await self._any.call(
            "the list of members",
            lambda stubs, try_s: stubs.cluster.MemberList(
                request, timeout=try_s, metadata=METADATA
            ),
        )
        found = (
            Member(member_id=one.ID, name=one.name, endpoint=_endpoint(one.clientURLs))
            for one in answer.members
        )
        return tuple(sorted(found, key=lambda member: (member.name, member.member_id)))

    async def status(self, member: Member) -> MemberStatus:
        """Return what a member says of itself.

        Raises:
            Unavailable: It does not answer.
        """
        request = etcdrpc.StatusRequest()
        answer = await self._member(member).call(
            f"the status of {member.name}",
            lambda stubs, try_s: stubs.maintenance.Status(request, timeout=try_s),
        )
        return member_status(member.endpoint, answer)

    async def compact(self, revision: int) -> None:
        """Drop the history before `revision`, and wait until its space is free inside the file.

        Raises:
            Unavailable: It did not end in time.
            Rejected: That revision was compacted before, or lies in the future.
        """
        request = etcdrpc.CompactionRequest(revision=revision, physical=True)
        await self._patiently(
            self._any, "a compaction", lambda stubs: stubs.kv.Compact, request, COMPACT_S
        )

    async def defragment(self, member: Member) -> None:
        """Have one member write its database anew, without the free space in it.

        Raises:
            Unavailable: It did not end in time; the member may still be at it.
        """
        request = etcdrpc.DefragmentRequest()
        await self._patiently(
            self._member(member),
            f"to defragment {member.name}",
            lambda stubs: stubs.maintenance.Defragment,
            request,
            DEFRAGMENT_S,
        )

    async def alarms(self) -> tuple[Alarm, ...]:
        """Return every alarm in force.

        Raises:
            Unavailable: etcd does not answer.
        """
        answer = await self._alarm(etcdrpc.AlarmRequest(action=etcdrpc.AlarmRequest.GET))
        return tuple(Alarm(member_id=one.memberID, kind=one.alarm) for one in answer.alarms)

    async def disarm(self, alarm: Alarm) -> None:
        """Take an alarm back. It must name its member: without one, etcd says yes and does nothing.

        Raises:
            Unavailable: etcd does not answer.
        """
        await self._alarm(
            etcdrpc.AlarmRequest(
                action=etcdrpc.AlarmRequest.DEACTIVATE, memberID=alarm.member_id, alarm=alarm.kind
            )
        )

    async def close(self) -> None:
        """Give the connections back."""
        for channels in (self._any, *self._one.values()):
            await channels.close()

    def _member(self, member: Member) -> Channels:
        if not member.endpoint:
            raise Unavailable(f"member {member.name or member.member_id} tells no client address")
        if member.endpoint not in self._one:
            self._one[member.endpoint] = Channels((member.endpoint,), total_s=RANGE_TRY_S)
        return self._one[member.endpoint]

    async def _alarm(self, request: Any) -> Any:  # noqa: ANN401 - messages
        return await self._any.call(
            "its alarms", lambda stubs, try_s: stubs.maintenance.Alarm(request, timeout=try_s)
        )

    async def _patiently(
        self,
        channels: Channels,
        what: str,
        method: Any,  # noqa: ANN401 - of a stub
        request: Any,  # noqa: ANN401 - a message
        limit_s: float,
    ) -> None:
        """Make one try with a long deadline; a second one would find the first still at work."""
        await channels.call(
            what, lambda stubs, try_s: method(stubs)(request, timeout=try_s), try_s=limit_s
        )


def _endpoint(urls: Sequence[str]) -> str:
    for url in urls:
        for scheme in _SCHEMES:
            if url.startswith(scheme):
                return url.removeprefix(scheme).rstrip("/")
    return ""
