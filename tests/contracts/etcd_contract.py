"""What every `Etcd` keeps: the real client, and the one of the simulation.

A test class inherits `EtcdContract` and gives the fixture `etcd_port`. Waits are bounded in the
time of the event loop, so the suite runs in virtual time too.
"""

import asyncio
from contextlib import aclosing
from typing import Any, Literal, cast
from uuid import uuid4

import pytest

from dorm.ports.etcd import Compare, Delete, Etcd, Get, Put, WatchEvent
from events.errors import Compacted, Rejected

WAIT_S = 15.0

Target = Literal["create", "mod", "version"]


async def put(etcd: Etcd, key: str, value: bytes = b"x", *, lease: int = 0) -> int:
    """Write a key whatever is there; return the revision."""
    return (await etcd.txn((), (Put(key, value, lease),))).revision


async def next_changes(etcd: Etcd, prefix: str, *, after: int, count: int) -> list[WatchEvent]:
    """Return the next `count` changes behind revision `after`."""
    seen: list[WatchEvent] = []
    watch = cast("Any", etcd.watch(prefix, start_revision=after + 1))
    async with asyncio.timeout(WAIT_S):
        if not hasattr(watch, "aclose"):
            return await _take(watch, seen, count)
        async with aclosing(watch):
            return await _take(watch, seen, count)


async def _take(watch: Any, seen: list[WatchEvent], count: int) -> list[WatchEvent]:  # noqa: ANN401 - a watch
    async for batch in watch:
        seen += batch
        if len(seen) >= count:
            break
    return seen


class EtcdContract:
    """The suite."""

    @pytest.fixture
    def prefix(self) -> str:
        """A place of its own for each test, because they may share one server."""
        return f"/contract/{uuid4().hex}/"

    # Keys and transactions

    async def test_a_key_tells_its_revisions_and_version(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """Guards compare these numbers, so they must be etcd's."""
        first = await put(etcd_port, f"{prefix}a", b"1")
        second = await put(etcd_port, f"{prefix}a", b"2")

        found = await etcd_port.get(f"{prefix}a")

        assert found is not None
        assert (first, second, 2, b"2", 0) == (
            found.create_revision,
            found.mod_revision,
            found.version,
            found.value,
            found.lease,
        )
        assert second > first

    async def test_a_missing_key_is_none(self, etcd_port: Etcd, prefix: str) -> None:
        """Absence is an answer, not an error."""
        assert await etcd_port.get(f"{prefix}nothing") is None

    @pytest.mark.parametrize("target", ["create", "mod", "version"])
    async def test_a_compare_with_zero_means_absent(
        self, etcd_port: Etcd, prefix: str, target: Target
    ) -> None:
        """Every first write of a key is guarded like this."""
        guard = Compare(f"{prefix}a", target, 0)

        first = await etcd_port.txn((guard,), (Put(f"{prefix}a", b"1"),))
        again = await etcd_port.txn((guard,), (Put(f"{prefix}a", b"2"),), (Get(f"{prefix}a"),))

        assert first.succeeded
        assert not again.succeeded
        assert again.gets[0] is not None
        assert b"1" == again.gets[0].value

    async def test_each_compare_looks_at_its_own_number(self, etcd_port: Etcd, prefix: str) -> None:
        """Create and mod revision and version differ after a second write; guards must not mix."""
        created = await put(etcd_port, f"{prefix}a")
        modified = await put(etcd_port, f"{prefix}a")
        right: dict[Target, int] = {"create": created, "mod": modified, "version": 2}

        for target, value in right.items():
            held = await etcd_port.txn((Compare(f"{prefix}a", target, value),), ())
            broken = await etcd_port.txn((Compare(f"{prefix}a", target, value + 1),), ())
            assert (True, False) == (held.succeeded, broken.succeeded), target

    async def test_one_failed_compare_stops_every_write(self, etcd_port: Etcd, prefix: str) -> None:
        """A batch of events is written whole or not at all."""
        result = await etcd_port.txn(
            (Compare(f"{prefix}a", "create", 0), Compare(f"{prefix}b", "version", 7)),
            (Put(f"{prefix}a", b"1"), Put(f"{prefix}c", b"1")),
            (Get(f"{prefix}a"), Get(f"{prefix}c")),
        )

        assert not result.succeeded
        assert (None, None) == result.gets

    async def test_all_writes_of_a_transaction_share_its_revision(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """The order of the log is the order of transactions."""
        result = await etcd_port.txn(
            (), (Put(f"{prefix}a", b"1"), Put(f"{prefix}b", b"1"), Get(f"{prefix}b"))
        )

        found = await etcd_port.range(prefix)

        assert {result.revision} == {item.create_revision for item in found.items}
        assert [found.items[1]] == list(result.gets)

    async def test_a_read_only_transaction_tells_the_revision_of_the_store(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """Readers take it before they read, to know what they must have seen."""
        written = await put(etcd_port, f"{prefix}a")

        result = await etcd_port.txn((), (Get(f"{prefix}a"),))

        assert result.succeeded
        assert result.revision >= written

    async def test_a_deleted_key_starts_over(self, etcd_port: Etcd, prefix: str) -> None:
        """A new leader's key must have a new create revision: that is the epoch."""
        first = await put(etcd_port, f"{prefix}a")
        await etcd_port.txn((), (Delete(f"{prefix}a"), Delete(f"{prefix}nothing")))
        assert await etcd_port.get(f"{prefix}a") is None
        await put(etcd_port, f"{prefix}a")

        found = await etcd_port.get(f"{prefix}a")

        assert found is not None
        assert found.create_revision > first
        assert 1 == found.version

    async def test_too_many_operations_are_refused(self, etcd_port: Etcd, prefix: str) -> None:
        """Etcd takes 128; a bigger batch must fail at once, not after ten seconds of tries."""
        await etcd_port.txn((), [Put(f"{prefix}{n}", b"") for n in range(128)])

        with pytest.raises(Rejected):
            await etcd_port.txn((), [Put(f"{prefix}{n}", b"") for n in range(129)])

    @pytest.mark.parametrize("size", [1_600_000, 3_000_000])
    async def test_a_too_large_request_is_refused(
        self, etcd_port: Etcd, prefix: str, size: int
    ) -> None:
        """Etcd says so in two ways, below and above 2 MiB; both are final."""
        with pytest.raises(Rejected):
            await put(etcd_port, f"{prefix}a", b"x" * size)
        assert await etcd_port.get(f"{prefix}a") is None

    # Ranges

    async def test_a_range_has_the_keys_of_its_prefix_in_key_order(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """Neighbours of the prefix are not part of it."""
        for key in ("b/2", "b/1", "a", "b0", "c"):
            await put(etcd_port, f"{prefix}{key}")

        found = await etcd_port.range(f"{prefix}b/")

        assert [f"{prefix}b/1", f"{prefix}b/2"] == [item.key for item in found.items]
        assert not found.more

    async def test_a_limit_is_honoured_and_the_rest_is_read_from_there(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """The bare etcd3 drops the limit: asked for 5 of 20 it returns 20."""
        await etcd_port.txn((), [Put(f"{prefix}{n:02}", b"") for n in range(20)])

        first = await etcd_port.range(prefix, limit=5)
        rest = await etcd_port.range(prefix, start=first.items[-1].key + "\0")

        assert (5, True) == (len(first.items), first.more)
        assert (15, False) == (len(rest.items), rest.more)

    async def test_keys_only_leaves_the_values_out(self, etcd_port: Etcd, prefix: str) -> None:
        """Counting a segment must not carry its events over the network."""
        await put(etcd_port, f"{prefix}a", b"much")

        found = await etcd_port.range(prefix, keys_only=True)

        assert [(f"{prefix}a", b"")] == [(item.key, item.value) for item in found.items]

    # Leases

    async def test_a_kept_lease_keeps_its_key(self, etcd_port: Etcd, prefix: str) -> None:
        """A node is there as long as its agent renews."""
        lease = await etcd_port.grant(2)
        await put(etcd_port, f"{prefix}a", lease=lease.lease_id)
        for _ in range(4):
            await asyncio.sleep(0.8)
            assert (await etcd_port.keep_alive(lease.lease_id)).ttl_s > 0

        found = await etcd_port.get(f"{prefix}a")

        assert found is not None
        assert lease.lease_id == found.lease

    async def test_a_lease_that_runs_out_takes_its_key_along(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """That is how the loss of a master or of a node shows, as a delete in the watch."""
        lease = await etcd_port.grant(2)
        revision = await put(etcd_port, f"{prefix}a", lease=lease.lease_id)

        (gone,) = await next_changes(etcd_port, prefix, after=revision, count=1)

        assert ("delete", f"{prefix}a") == (gone.kind, gone.item.key)
        assert gone.item.mod_revision > revision
        assert await etcd_port.get(f"{prefix}a") is None

    async def test_a_lost_lease_says_so_when_it_is_renewed(self, etcd_port: Etcd) -> None:
        """With a time to live of 0, not by an error: the caller must look."""
        lease = await etcd_port.grant(5)
        await etcd_port.revoke(lease.lease_id)

        assert 0 == (await etcd_port.keep_alive(lease.lease_id)).ttl_s

    async def test_revoking_a_lease_removes_its_keys_and_may_be_done_twice(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """A retried revoke is no error."""
        lease = await etcd_port.grant(5)
        await put(etcd_port, f"{prefix}a", lease=lease.lease_id)

        await etcd_port.revoke(lease.lease_id)
        await etcd_port.revoke(lease.lease_id)

        assert await etcd_port.get(f"{prefix}a") is None

    async def test_a_write_under_a_lost_lease_is_refused(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """Else a node whose lease ran out would come back without one, for ever."""
        lease = await etcd_port.grant(5)
        await etcd_port.revoke(lease.lease_id)

        with pytest.raises(Rejected):
            await put(etcd_port, f"{prefix}a", lease=lease.lease_id)

    # Watches

    async def test_a_watch_begins_in_the_past_and_goes_on(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """There is no gap between what was read and what is watched."""
        start = await put(etcd_port, f"{prefix}a", b"0")
        for n in range(1, 4):
            await put(etcd_port, f"{prefix}a", b"%d" % n)
        later = asyncio.create_task(self._write_later(etcd_port, prefix))

        seen = await next_changes(etcd_port, prefix, after=start, count=5)

        await later
        assert [b"1", b"2", b"3", b"4", b"5"] == [change.item.value for change in seen]

    async def _write_later(self, etcd: Etcd, prefix: str) -> None:
        for n in (4, 5):
            await asyncio.sleep(0.1)
            await put(etcd, f"{prefix}a", b"%d" % n)

    async def test_a_watch_yields_whole_revisions_in_order(
        self, etcd_port: Etcd, prefix: str
    ) -> None:
        """A reader never sees half a transaction."""
        start = await put(etcd_port, f"{prefix}z")
        for n in range(6):
            await etcd_port.txn((), [Put(f"{prefix}{n}-{part}", b"") for part in range(30)])
        sizes: list[int] = []
        revisions: list[int] = []

        watch = etcd_port.watch(prefix, start_revision=start + 1)
        async with asyncio.timeout(WAIT_S):
            async for batch in watch:
                sizes.append(len(batch))
                revisions += [change.item.mod_revision for change in batch]
                if len(revisions) >= 180:
                    break

        assert all(size % 30 == 0 for size in sizes)
        assert sorted(revisions) == revisions

    async def test_a_watch_leaves_other_keys_out(self, etcd_port: Etcd, prefix: str) -> None:
        """Each follower pays only for what it follows."""
        start = await put(etcd_port, f"{prefix}other")
        await put(etcd_port, f"{prefix}b")
        await put(etcd_port, f"{prefix}a/1")

        seen = await next_changes(etcd_port, f"{prefix}a/", after=start, count=1)

        assert [f"{prefix}a/1"] == [change.item.key for change in seen]

    async def test_a_watch_behind_a_compaction_says_so(self, etcd_port: Etcd, prefix: str) -> None:
        """In etcd itself that is a flag in one message of a stream that then stays silent."""
        start = await put(etcd_port, f"{prefix}a")
        await put(etcd_port, f"{prefix}a")
        newest = await put(etcd_port, f"{prefix}a")
        await etcd_port.compact(newest)
        await etcd_port.compact(newest)

        with pytest.raises(Compacted) as raised:
            await next_changes(etcd_port, prefix, after=start, count=1)

        assert newest == raised.value.revision

    async def test_compaction_leaves_live_keys_alone(self, etcd_port: Etcd, prefix: str) -> None:
        """Events are write-once keys, so compaction never takes one."""
        revision = await put(etcd_port, f"{prefix}a", b"1")
        await etcd_port.compact(await put(etcd_port, f"{prefix}b"))

        found = await etcd_port.get(f"{prefix}a")

        assert found is not None
        assert (b"1", revision) == (found.value, found.create_revision)

    async def test_an_idle_watch_shows_that_it_is_alive(self, etcd_port: Etcd, prefix: str) -> None:
        """So that silence can be told from a dead stream."""
        start = await put(etcd_port, f"{prefix}other")

        assert [] == await next_changes(etcd_port, f"{prefix}a/", after=start, count=0)

    # Status

    async def test_a_member_tells_its_status(self, etcd_port: Etcd, prefix: str) -> None:
        """Operators, and the check of a follower's cluster, read it."""
        revision = await put(etcd_port, f"{prefix}a")

        statuses = await etcd_port.status()

        assert {status.leader_id for status in statuses} <= {one.member_id for one in statuses}
        assert 1 == len({status.leader_id for status in statuses})
        assert max(status.revision for status in statuses) >= revision
        assert all(status.cluster_id for status in statuses)
