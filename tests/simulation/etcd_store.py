"""etcd's key-value store as one synchronous object: revisions, leases, history, limits.

Faults are not here but in `etcd.SimEtcdClient`: the store itself is always right.
"""

import asyncio
import itertools
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Sequence

import attrs

from dorm.ports.etcd import (
    Compare,
    Delete,
    Get,
    KeyValue,
    Lease,
    MemberStatus,
    Operation,
    Put,
    RangeResult,
    TxnResult,
    WatchEvent,
)
from events.errors import Compacted, NoSpace, Rejected
from tests.simulation.etcd_bells import Bells
from tests.simulation.etcd_limits import check_limits
from tests.simulation.etcd_members import Member, Members

Change = tuple[int, tuple[WatchEvent, ...]]
Observer = Callable[[int, Sequence[Compare], tuple[WatchEvent, ...]], None]


@attrs.define
class _LeaseHeld:
    ttl_s: float
    expires: float
    keys: dict[str, None] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Backup:
    """What a backup holds. `leases` has the time to live of each, in seconds."""

    revision: int
    items: dict[str, KeyValue]
    leases: dict[int, float]


class EtcdStore:
    """The data of one etcd cluster.

    Attributes:
        members: Who of them runs and leads; leases only run out while there is a leader.
        full: No space is left (`NOSPACE`): what could write a key, or a lease, is refused.
        bells: Of those who watch.
        observers: Called with revision, guards and changes of each write, at the very moment.
        restored: Called with the revision that a restore went back to.
        refused: How often a guard did not hold, by key.
    """

    def __init__(self) -> None:
        """Start empty, at revision 1 as etcd does."""
        self.revision = 1
        self.compacted = 0
        self.full = False
        self.bells = Bells()
        self.members = Members(elected=self._renew_leases, changed=self.bells.ring_all)
        self.observers: list[Observer] = []
        self.restored: list[Callable[[int], None]] = []
        self.refused: Counter[str] = Counter()
        self._items: dict[str, KeyValue] = {}
        self._keys: list[str] = []
        self._bytes = 0
        self._leases: dict[int, _LeaseHeld] = {}
        self._lease_ids = itertools.count(7_001)
        self._history: deque[Change] = deque()

    # Keys

    def get(self, key: str) -> KeyValue | None:
        """Return one key."""
        return self._items.get(key)

    def range(self, prefix: str, start: str, limit: int, *, keys_only: bool) -> RangeResult:
        """Return keys in order."""
        first = bisect_left(self._keys, max(prefix, start))
        keys = itertools.takewhile(
            lambda key: key.startswith(prefix), itertools.islice(self._keys, first, None)
        )
        found = list(itertools.islice(keys, limit + 1) if limit else keys)
        more = bool(limit) and len(found) > limit
        items = (self._items[key] for key in (found[:limit] if limit else found))
        return RangeResult(
            items=tuple(_without_value(item) for item in items) if keys_only else tuple(items),
            revision=self.revision,
            more=more,
        )

    def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation],
    ) -> TxnResult:
        """Run a transaction, all of it or nothing."""
        check_limits(compares, success, failure)
        if any(isinstance(operation, Put) for operation in (*success, *failure)):
            self._check_space()  # Also for a put of the branch that is not taken.
        broken = [compare.key for compare in compares if not self._holds(compare)]
        succeeded = not broken
        self.refused.update(broken)
        branch = success if succeeded else failure
        for operation in branch:
            if isinstance(operation, Put) and operation.lease not in {0, *self._leases}:
                raise Rejected("is not a lease", field="lease", value=str(operation.lease))
        gets: list[KeyValue | None] = []
        changes: list[WatchEvent] = []
        revision = self.revision + 1
        for operation in branch:
            match operation:
                case Put():
                    changes.append(self._put(operation, revision))
                case Delete(key=key):
                    changes.extend(self._delete(key, revision))
                case Get(key=key):
                    gets.append(self._items.get(key))
        self._commit(revision, compares, changes)
        return TxnResult(succeeded=succeeded, revision=self.revision, gets=tuple(gets))

    def _holds(self, compare: Compare) -> bool:
        item = self._items.get(compare.key)
        if item is None:
            return compare.value == 0
        actual = {
            "create": item.create_revision,
            "mod": item.mod_revision,
            "version": item.version,
        }
        return actual[compare.target] == compare.value

    def _put(self, put: Put, revision: int) -> WatchEvent:
        old = self._items.get(put.key)
        if old is None:
            insort(self._keys, put.key)
        elif old.lease:
            self._leases[old.lease].keys.pop(put.key, None)
        item = KeyValue(
            key=put.key,
            value=put.value,
            create_revision=old.create_revision if old else revision,
            mod_revision=revision,
            version=old.version + 1 if old else 1,
            lease=put.lease,
        )
        self._items[put.key] = item
        self._bytes += _size(item) - _size(old)
        if put.lease:
            self._leases[put.lease].keys[put.key] = None
        return WatchEvent(kind="put", item=item)

    def _delete(self, key: str, revision: int) -> tuple[WatchEvent, ...]:
        old = self._items.pop(key, None)
        if old is None:
            return ()
        self._bytes -= _size(old)
        del self._keys[bisect_left(self._keys, key)]
        if old.lease in self._leases:
            self._leases[old.lease].keys.pop(key, None)
        gone = KeyValue(key=key, value=b"", create_revision=0, mod_revision=revision, version=0)
        return (WatchEvent(kind="delete", item=gone),)

    def _commit(
        self, revision: int, compares: Sequence[Compare], changes: Sequence[WatchEvent]
    ) -> None:
        if not changes:
            return
        self.revision = revision
        self._history.append((revision, tuple(changes)))
        for observer in self.observers:
            observer(revision, compares, tuple(changes))
        self.bells.ring(changes)

    def _check_space(self) -> None:
        if self.full:
            raise NoSpace("etcdserver: mvcc: database space exceeded")

    # Leases

    def grant(self, ttl_s: float) -> Lease:
        """Make a lease."""
        self._check_space()
        lease_id, ttl_s = next(self._lease_ids), max(1.0, ttl_s)
        self._leases[lease_id] = _LeaseHeld(ttl_s=ttl_s, expires=_now() + ttl_s)
        self._expire_at(lease_id, self._leases[lease_id])
        return Lease(lease_id=lease_id, ttl_s=ttl_s)

    def keep_alive(self, lease_id: int) -> Lease:
        """Renew a lease; `ttl_s` 0 when it is gone."""
        lease = self._leases.get(lease_id)
        if lease is None:
            return Lease(lease_id=lease_id, ttl_s=0)
        lease.expires = _now() + lease.ttl_s
        return Lease(lease_id=lease_id, ttl_s=lease.ttl_s)

    def revoke(self, lease_id: int) -> None:
        """Drop a lease and its keys, asked for or not."""
        lease = self._leases.pop(lease_id, None)
        if lease is not None:
            revision = self.revision + 1
            gone = [change for key in list(lease.keys) for change in self._delete(key, revision)]
            self._commit(revision, (), gone)

    @property
    def lease_ids(self) -> tuple[int, ...]:
        """Return the leases in force, oldest first."""
        return tuple(self._leases)

    @property
    def quorum(self) -> bool:
        """Return whether the members agree on a leader."""
        return self.members.leader is not None

    def set_quorum(self, *, quorum: bool) -> None:
        """Part all members from each other, or bring all of them together, at once."""
        if quorum:
            self.members.heal()
        else:
            self.members.lose(revision=self.revision)

    def _renew_leases(self) -> None:
        """Give every lease its full time again, as a new leader does."""
        for lease in self._leases.values():
            lease.expires = _now() + lease.ttl_s

    def _expire_at(self, lease_id: int, lease: _LeaseHeld) -> None:
        def expire() -> None:
            if self._leases.get(lease_id) is not lease:
                return
            if self.quorum and lease.expires <= _now():
                self.revoke(lease_id)
            else:
                self._expire_at(lease_id, lease)

        loop = asyncio.get_running_loop()
        loop.call_at(max(lease.expires, loop.time() + 0.5), expire)

    # Backups

    def snapshot(self) -> "Backup":
        """Return a backup: keys, leases and revision, without history."""
        return Backup(
            revision=self.revision,
            items=dict(self._items),
            leases={lease_id: one.ttl_s for lease_id, one in self._leases.items()},
        )

    def restore(self, backup: "Backup") -> None:
        """Go back to a backup. Leases get their full time; streams stay open and silent."""
        self.revision = self.compacted = backup.revision
        self._items, self._keys = dict(backup.items), sorted(backup.items)
        self._history.clear()
        self._leases = {}
        for lease_id, ttl_s in backup.leases.items():
            held = _LeaseHeld(ttl_s=ttl_s, expires=_now() + ttl_s)
            held.keys = {key: None for key, item in self._items.items() if item.lease == lease_id}
            self._leases[lease_id] = held
            self._expire_at(lease_id, held)
        for observer in self.restored:
            observer(backup.revision)

    # History

    def changes(self, prefix: str, start_revision: int) -> tuple[tuple[WatchEvent, ...], int]:
        """Return the changes below `prefix` from `start_revision` on, and where to go on.

        Raises:
            Compacted: That history is gone.
        """
        if start_revision < self.compacted:
            raise Compacted(self.compacted)
        found: list[WatchEvent] = []
        for revision, changes in reversed(self._history):
            if revision < start_revision:
                break
            found.extend(c for c in reversed(changes) if c.item.key.startswith(prefix))
        return tuple(reversed(found)), max(start_revision, self.revision + 1)

    def compact(self, revision: int) -> None:
        """Drop the history before `revision`."""
        if revision > self.revision:
            raise Rejected("is in the future", field="revision", value=str(revision))
        self.compacted = max(self.compacted, revision)
        while self._history and self._history[0][0] < self.compacted:
            self._history.popleft()
        self.bells.ring_all()

    def has_changes(self, prefix: str, start_revision: int) -> bool:
        """Return whether a watch from `start_revision` on has something to tell at once."""
        if start_revision < self.compacted:
            return True
        for revision, changes in reversed(self._history):
            if revision < start_revision:
                return False
            if any(change.item.key.startswith(prefix) for change in changes):
                return True
        return False

    def status(self, member: Member) -> MemberStatus:
        """Return what a member says of itself."""
        return MemberStatus(
            endpoint=f"member{member.member_id}:2379",
            version="3.5.16",
            cluster_id=1,
            member_id=member.member_id,
            leader_id=member.leader_id,
            revision=self.revision if member.revision is None else member.revision,
            db_bytes=self._bytes,
            no_space=self.full,
        )


def _size(item: KeyValue | None) -> int:
    return len(item.key) + len(item.value) if item else 0


def _without_value(item: KeyValue) -> KeyValue:
    return KeyValue(
        key=item.key,
        value=b"",
        create_revision=item.create_revision,
        mod_revision=item.mod_revision,
        version=item.version,
        lease=item.lease,
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
