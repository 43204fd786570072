"""etcd as Dorm uses it: ranges, guarded transactions, leases, watches. No bare put exists."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, Protocol

import attrs


@attrs.frozen(kw_only=True)
class KeyValue:
    """One key as stored. `lease` is 0 without one."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int = 0


@attrs.frozen
class Compare:
    """A guard of a transaction: the key's revision or version equals `value`; 0 means absent."""

    key: str
    target: Literal["create", "mod", "version"]
    value: int


@attrs.frozen
class Put:
    """Write a key, under a lease if one is given."""

    key: str
    value: bytes
    lease: int = 0


@attrs.frozen
class Get:
    """Read one key."""

    key: str


@attrs.frozen
class Delete:
    """Remove one key."""

    key: str


Operation = Put | Get | Delete


@attrs.frozen(kw_only=True)
class TxnResult:
    """The outcome of a transaction.

    Attributes:
        succeeded: Whether every compare held, so which branch was taken.
        revision: The store's revision afterwards; of this write, if the branch wrote.
        gets: What each `Get` of the branch found, in order; None where there is no key.
    """

    succeeded: bool
    revision: int
    gets: tuple[KeyValue | None, ...] = ()


@attrs.frozen(kw_only=True)
class RangeResult:
    """Keys in key order. `more` tells that `limit` cut the rest off."""

    items: tuple[KeyValue, ...]
    revision: int
    more: bool = False


@attrs.frozen(kw_only=True)
class Lease:
    """A lease as granted, or as kept alive. `ttl_s` 0 means that it is gone."""

    lease_id: int
    ttl_s: float


@attrs.frozen(kw_only=True)
class WatchEvent:
    """One change. For a delete, `item` has the key and the revision of the delete, no value."""

    kind: Literal["put", "delete"]
    item: KeyValue


@attrs.frozen(kw_only=True)
class MemberStatus:
    """What one etcd member says of itself. `leader_id` 0 means that it sees no leader.

    Attributes:
        db_bytes: Of its database file. Only a defragmentation makes it smaller.
        in_use_bytes: What of that holds anything; 0 when the member does not tell.
        quota_bytes: How large the file may become; 0 when the member does not tell (before 3.6).
        no_space: Whether it reports that the store is full, so that etcd refuses all that writes.
    """

    endpoint: str
    version: str
    cluster_id: int
    member_id: int
    leader_id: int
    revision: int
    db_bytes: int
    in_use_bytes: int = 0
    quota_bytes: int = 0
    no_space: bool = False


class Etcd(Protocol):
    """The part of etcd that Dorm relies on.

    Every call has a deadline and tries the other endpoints before it gives up. `Unavailable`
    leaves the outcome of a write unknown: it may have been applied, or be applied later, so every
    transaction is guarded in such a way that trying it again is right.
    """

    async def get(self, key: str) -> KeyValue | None:
        """Return one key, linearizable."""
        ...

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """Return keys that begin with `prefix`, from `start` on if it is given; 0 is no limit."""
        ...

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """Run one guarded transaction: `success` if every compare holds, else `failure`.

        Raises:
            Unavailable: The outcome is unknown.
            Rejected: etcd refuses such a transaction (too large, too many operations, lease gone).
        """
        ...

    async def grant(self, ttl_s: float) -> Lease:
        """Make a lease."""
        ...

    async def keep_alive(self, lease_id: int) -> Lease:
        """Renew a lease once. The result says `ttl_s` 0 when it is gone."""
        ...

    async def revoke(self, lease_id: int) -> None:
        """Give a lease back, with its keys. A lease that is gone is no error."""
        ...

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """Yield changes below `prefix` from `start_revision` on; whole revisions, in order.

        May yield an empty batch to show that it is alive. It never ends quietly.

        Raises:
            Compacted: `start_revision` is gone: list, then watch from there.
            Unavailable: The stream broke or went silent: watch again from the last event's
                revision + 1, never from a header's.
        """
        ...

    async def compact(self, revision: int) -> None:
        """Drop the history before `revision`. Doing it twice is no error."""
        ...

    async def members(self) -> tuple[int, ...]:
        """Return the ids of all voting members, whether they answer or not."""
        ...

    async def status(self) -> tuple[MemberStatus, ...]:
        """Return the status of each member that answers."""
        ...
