"""How full etcd is, and what that forbids.

A full etcd refuses everything that writes: no decision, no report, no new leader. So there are
limits before it. What is refused first is what brings more (submits), what is refused last is what
ends something (reports, terminal events).
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final

import attrs

from dorm.ports.etcd import MemberStatus
from events.text import memory

QUOTA_BYTES: Final = 2 << 30
"""What etcd allows itself without `--quota-backend-bytes` (server/storage/quota.go)."""

IN_FLIGHT: Final = 0.1
"""Part of the quota that counts as used on top: pages that transactions under way have freed
cannot be written again at once, so the file grows while it still has free pages."""

BRIM: Final = 0.99
"""From here on the size of the file alone counts. etcd compares that with the quota, not what is
in use: only a defragmentation helps, however much is free inside."""


class Level(IntEnum):
    """What a fill means. Each forbids all that the ones before it forbid."""

    ROOMY = 0
    FILLING = 1  # archive and compact harder, and warn
    NO_SUBMITS = 2  # the API refuses new applications
    ONLY_ENDINGS = 3  # the API refuses all but what ends something
    FULL = 4  # etcd itself refuses all writes


_FROM: Final = (
    (0.9, Level.ONLY_ENDINGS),
    (0.8, Level.NO_SUBMITS),
    (0.7, Level.FILLING),
    (0.0, Level.ROOMY),
)


@attrs.frozen(kw_only=True)
class MemberSpace:
    """The room of one member; each has a file of its own."""

    endpoint: str
    db_bytes: int
    in_use_bytes: int
    quota_bytes: int
    no_space: bool

    @property
    def fill(self) -> float:
        """Return which part of the quota counts as used."""
        if self.db_bytes >= BRIM * self.quota_bytes:
            return self.db_bytes / self.quota_bytes
        in_use = self.in_use_bytes + int(IN_FLIGHT * self.quota_bytes)
        return min(self.db_bytes, in_use) / self.quota_bytes

    @property
    def level(self) -> Level:
        """Return what that means."""
        if self.no_space:
            return Level.FULL
        fill = self.fill
        return next(level for least, level in _FROM if fill >= least)


@attrs.frozen
class Space:
    """The room of the whole store. The fullest member counts: one full file stops all of etcd."""

    members: tuple[MemberSpace, ...] = ()

    @property
    def fullest(self) -> MemberSpace | None:
        """Return the member with the least room; None when none has answered yet."""
        return max(self.members, key=lambda one: (one.level, one.fill), default=None)

    @property
    def level(self) -> Level:
        """Return what the fullest member means for all."""
        return self.fullest.level if self.fullest else Level.ROOMY

    def __str__(self) -> str:
        """Return a phrase for people."""
        one = self.fullest
        if one is None:
            return "unknown"
        full = ", FULL: etcd refuses all writes" if one.no_space else ""
        return (
            f"{one.fill:.0%} of {memory(one.quota_bytes)} ({memory(one.in_use_bytes)} in use, "
            f"file {memory(one.db_bytes)}, {one.endpoint}){full}"
        )


def reckon(statuses: Iterable[MemberStatus], *, quota_bytes: int) -> Space:
    """Return the room of a store; `quota_bytes` counts for members that do not tell theirs."""
    members = (
        MemberSpace(
            endpoint=status.endpoint,
            db_bytes=status.db_bytes,
            in_use_bytes=status.in_use_bytes or status.db_bytes,
            quota_bytes=status.quota_bytes or quota_bytes,
            no_space=status.no_space,
        )
        for status in statuses
    )
    return Space(tuple(sorted(members, key=lambda one: one.endpoint)))
