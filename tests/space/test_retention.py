"""What leaves etcd, what stays, and who notices."""

from typing import Any

import attrs
import pytest

from dorm.log import snapshots
from dorm.log.etcd_log import EtcdLog
from dorm.master.beginning import beginning
from dorm.ports import Delete
from dorm.ports.etcd import RangeResult
from dorm.space.archive import Archive
from dorm.space.retention import Retention
from events.errors import Archived, Corrupt, Fenced
from events.fold import fold
from events.recorded import Recorded
from tests.builders import BY_TEST, an_app
from tests.master.world import World, in_world
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.files import SHARED, Disk, SimFiles
from tests.simulation.process import Process


@attrs.define
class Room:
    """A log of three closed segments of four events each, their seals, and a snapshot."""

    world: World
    log: EtcdLog
    archive: Archive
    retention: Retention
    files: dict[str, bytes]
    recorded: list[Recorded]
    epoch: int

    @property
    def segments(self) -> list[int]:
        """Return the segments that the log still has."""
        prefix = self.world.keys.segment_openings
        found = self.world.store.range(prefix, "", 0, keys_only=True)
        return [int(item.key.removeprefix(prefix)) for item in found.items]

    async def drop(self, keep_events: int = 0, **more: Any) -> int | None:  # noqa: ANN401 - as there
        """Delete the oldest segment if that may be."""
        return await self.retention.drop_next(
            keep_events=keep_events, **{"fence": self.epoch, **more}
        )

    async def snapshot(self) -> None:
        """Save the state of the whole log."""
        await snapshots.save(
            self.world.etcd, self.world.keys, fold(self.recorded), fence=self.epoch
        )

    async def archive_all(self) -> None:
        """Archive whatever is sealed."""
        while await self.retention.archive_next() is not None:
            pass


async def a_room(world: World, *, snapshot: bool = True) -> Room:
    """Build it."""
    log, epoch = world.log("writer"), world.take_office()
    await log.bootstrap()
    previous = ""
    for segment in range(4):
        for n in range(4):
            await log.append([an_app(f"s{segment}-{n}")], stamp=BY_TEST)
        if segment == 3:
            break
        await log.segments.roll_over(await log.segments.current(), fence=epoch)
        seal = await log.seal(segment, previous=previous)
        previous = seal.sha256
        await log.append([seal], stamp=BY_TEST)
    files: dict[str, bytes] = {}
    archive = Archive(SimFiles(Disk(files), world.process), SHARED, cluster="test")
    room = Room(
        world,
        log,
        archive,
        Retention(world.etcd, world.keys, log=world.log("m1"), archive=archive, clock=world.clock),
        files,
        await everything(world.log("reader")),
        epoch,
    )
    if snapshot:
        await room.snapshot()
    return room


async def everything(log: EtcdLog, *, after: int = 0) -> list[Recorded]:
    """Read a log to its end."""
    found: list[Recorded] = []
    while True:
        page = await log.read(after=after)
        found += page.recorded
        after = page.through
        if page.at_end:
            return found


def test_a_segment_leaves_only_when_enough_stays_and_what_stays_is_all_there() -> None:
    """The rest of the log reads on without a gap, and the archive has what is gone."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        assert {0, 1, 2} == await room.archive.segments()

        assert await room.drop(keep_events=16) is None
        assert 0 == await room.drop(keep_events=15)
        assert [1, 2, 3] == room.segments
        rest = await everything(world.log("late"), after=room.recorded[3].revision + 1)
        assert room.recorded[4:] == rest
        assert tuple(room.recorded[:4]) == await room.archive.read(0)
        assert [1, 2] == [await room.drop(), await room.drop()]
        assert await room.drop() is None, "the open segment stays"

    in_world(test)


def test_without_a_snapshot_behind_it_a_segment_stays() -> None:
    """A master that starts would find neither the events nor what they add up to."""

    async def test(world: World) -> None:
        room = await a_room(world, snapshot=False)
        await room.archive_all()

        assert await room.drop() is None
        assert room.retention.blocked is not None
        assert "no snapshot" in room.retention.blocked.reason
        await room.snapshot()
        assert 0 == await room.drop()

    in_world(test)


def test_a_damaged_file_is_written_anew_before_its_segment_leaves() -> None:
    """The log still has it, for the last time."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        path = room.archive.path(0)
        room.files[path] = room.files[path][:-5]

        assert 0 == await room.drop()
        assert tuple(room.recorded[:4]) == await room.archive.read(0)

    in_world(test)


def test_an_archive_that_lacks_an_earlier_segment_takes_no_later_one() -> None:
    """Two masters with two directories would leave half of the history in each."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        assert 0 == await room.drop()
        del room.files[room.archive.path(0)]

        assert await room.drop() is None
        assert room.retention.blocked is not None
        assert "segment-00000000.jsonl.zst is missing" in room.retention.blocked.reason

    in_world(test)


def test_only_the_leader_in_office_deletes() -> None:
    """An operator does without a leader: what he deletes is verified all the same."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        world.store.txn((), (Delete(world.keys.leader),), ())
        world.take_office("m2")

        with pytest.raises(Fenced):
            await room.drop()
        assert [0, 1, 2, 3] == room.segments
        assert 0 == await room.drop(fence=None)

    in_world(test)


def test_a_deletion_that_broke_off_is_finished_by_the_next() -> None:
    """The opening is gone, the events are not: nobody reads them, and they take room."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        world.store.txn((), (Delete(world.keys.segment_opening(0)),), ())

        assert await room.drop(keep_events=14) is None
        first = world.store.range(world.keys.events, "", 1, keys_only=True).items[0]
        assert first.key.startswith(world.keys.segment(1))

    in_world(test)


def test_a_full_store_does_not_stop_it() -> None:
    """Only then it matters most: it deletes, and puts nothing."""

    async def test(world: World) -> None:
        room = await a_room(world)
        world.store.full = True
        await room.archive_all()

        assert 0 == await room.drop()

    in_world(test)


class Overtaken(SimEtcdClient):
    """A reader that is paused in the middle of a segment, while that leaves."""

    room: Room | None = None

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        if self.room is not None and prefix == self.room.world.keys.segment(1):
            room, self.room = self.room, None
            await room.drop()
            for item in room.world.store.range(prefix, "", 2, keys_only=True).items:
                room.world.store.txn((), (Delete(item.key),), ())
            room.world.store.txn((), (Delete(room.world.keys.segment_opening(1)),), ())
        return await super().range(prefix, start=start, limit=limit, keys_only=keys_only)


def test_a_reader_that_is_overtaken_by_a_deletion_finds_out() -> None:
    """It must not take what is left of a segment for the whole."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        client = Overtaken(world.store, Process("slow", seed=2), NetworkFaults())
        slow = EtcdLog(client, world.keys, producer="slow")
        page = await slow.read()
        client.room = room

        with pytest.raises(Archived) as gone:
            await slow.read(after=page.through)

        assert 2 == gone.value.segment
        rest = await everything(slow, after=gone.value.revision)
        assert [one for one in room.recorded if one.segment >= 2] == rest

    in_world(test)


def test_a_master_without_a_usable_snapshot_begins_with_the_archive() -> None:
    """Such as after an upgrade to a Dorm whose state has another shape."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        await room.drop()
        world.store.txn((), (Delete(world.keys.snapshot_latest),), ())
        log = world.log("m2")

        with pytest.raises(Corrupt, match="start this master with --archive DIR"):
            await beginning(world.etcd, world.keys, log, None)
        found = await beginning(world.etcd, world.keys, log, room.archive)
        rest = await everything(log, after=found.after)

        assert fold(rest, found.state) == fold(room.recorded)
        del room.files[room.archive.path(0)]
        with pytest.raises(Corrupt, match="segment-00000000"):
            await beginning(world.etcd, world.keys, log, room.archive)

    in_world(test)


def test_a_reader_that_begins_before_the_log_does_is_told_where_it_begins() -> None:
    """To begin quietly with what is there would be another history."""

    async def test(world: World) -> None:
        room = await a_room(world)
        await room.archive_all()
        await room.drop()
        log = world.log("new")

        for after in (0, room.recorded[2].revision):
            with pytest.raises(Archived) as gone:
                await log.read(after=after)
            assert 1 == gone.value.segment
            assert room.recorded[4:] == await everything(log, after=gone.value.revision)

    in_world(test)
