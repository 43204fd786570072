"""Roll-over, seals, and reading over the cuts."""

import asyncio

import pytest

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.ports.etcd import Delete, Put
from events.codec import segment_digest
from events.errors import Corrupt, Fenced
from tests.builders import BY_TEST, an_app
from tests.contracts.etcd_world import EtcdWorld
from tests.contracts.log_contract import read_all

pytestmark = pytest.mark.etcd


@pytest.fixture
def world(etcd_client: EtcdClient, keys: Keys) -> EtcdWorld:
    """A log with two writers and a leader's office."""
    return EtcdWorld.on(etcd_client, keys)


async def _write(world: EtcdWorld, *counts: int) -> int:
    """Write segments of so many events, alternating the writers; return the epoch."""
    epoch = await world.elect()
    for number, count in enumerate(counts):
        if number:
            await world.log.segments.roll_over(await world.log.segments.current(), fence=epoch)
        for n in range(count):
            log = world.log if n % 2 else world.other
            await log.append((an_app(f"s{number}-{n}"),), stamp=BY_TEST)
    return epoch


async def test_reading_crosses_segments_from_any_revision(world: EtcdWorld) -> None:
    """Empty segments and the cuts between them neither lose nor repeat an event."""
    await _write(world, 4, 0, 3, 2, 0)
    everything = await read_all(world.other)

    for recorded in everything:
        rest = await read_all(world.log, after=recorded.revision)
        assert everything[everything.index(recorded) + 1 :] == rest
    assert [0] * 4 + [2] * 3 + [3] * 2 == [recorded.segment for recorded in everything]


async def test_a_read_takes_one_segment_and_tells_how_far_it_reaches(world: EtcdWorld) -> None:
    """A fold over a long history holds one segment in memory, not all."""
    await _write(world, 3, 2)

    first = await world.log.read()
    second = await world.log.read(after=first.through)

    assert (3, False) == (len(first.recorded), first.at_end)
    assert (2, True) == (len(second.recorded), second.at_end)
    assert first.recorded[-1].revision < first.through < second.recorded[0].revision


async def test_a_reader_with_an_old_memory_finds_new_segments(world: EtcdWorld) -> None:
    """The cuts are remembered, and learned when more come."""
    epoch = await _write(world, 2)
    before = await world.other.read()
    await world.log.segments.roll_over(await world.log.segments.current(), fence=epoch)
    await world.log.append((an_app("new"),), stamp=BY_TEST)

    found = await read_all(world.other, after=before.through)

    assert [an_app("new")] == [recorded.event for recorded in found]


async def test_a_big_segment_is_read_in_pages_of_keys(world: EtcdWorld) -> None:
    """One answer of etcd has a bound; the page of the log has all of the segment."""
    for batch in range(25):
        await world.log.append([an_app(f"{batch}-{n}") for n in range(100)], stamp=BY_TEST)

    page = await world.log.read()

    assert 2_500 == len(page.recorded)
    assert [r.position for r in page.recorded] == sorted(r.position for r in page.recorded)


async def test_a_roll_over_may_be_tried_again(world: EtcdWorld) -> None:
    """A lost answer does not cost an empty segment."""
    epoch = await _write(world, 1)
    segment = await world.log.segments.current()

    numbers = [await world.log.segments.roll_over(segment, fence=epoch) for _ in range(3)]

    assert [1, 1, 1] == numbers


async def test_only_the_leader_in_office_rolls_over(world: EtcdWorld) -> None:
    """Two masters must not cut the log against each other."""
    old = await _write(world, 1)
    await world.elect()
    segment = await world.log.segments.current()

    with pytest.raises(Fenced):
        await world.log.segments.roll_over(segment, fence=old)

    assert 0 == (await world.log.segments.current()).number


async def test_appends_during_roll_overs_are_all_kept(world: EtcdWorld) -> None:
    """Writers find the new segment by themselves."""
    epoch = await world.elect()

    async def write(log: EtcdLog, name: str) -> None:
        for n in range(40):
            await log.append((an_app(f"{name}{n}"),), stamp=BY_TEST)

    async def roll() -> None:
        for _ in range(6):
            await asyncio.sleep(0.01)
            await world.log.segments.roll_over(await world.log.segments.current(), fence=epoch)

    await asyncio.gather(write(world.log, "a"), write(world.other, "b"), roll())

    found = await read_all(world.log)
    assert 80 == len({recorded.event.app_id for recorded in found})  # type: ignore[union-attr]
    assert sorted(found, key=lambda recorded: recorded.position) == found
    assert sorted(recorded.segment for recorded in found) == [r.segment for r in found]


async def test_the_first_segment_is_made_once(etcd_client: EtcdClient, keys: Keys) -> None:
    """Every process of a new cluster may be the first."""
    logs = [EtcdLog(etcd_client, keys, producer=f"m{n}") for n in range(5)]

    await asyncio.gather(*(log.bootstrap() for log in logs))

    segments = [await log.segments.current() for log in logs]
    assert 1 == len({segment.guard for segment in segments})


async def test_a_seal_says_what_a_closed_segment_holds(world: EtcdWorld) -> None:
    """An auditor recomputes it from the events alone."""
    await _write(world, 3, 1)
    inside = [recorded for recorded in await read_all(world.log) if recorded.segment == 0]

    seal = await world.other.seal(0, previous="before")

    assert (0, 3, "before") == (seal.segment, seal.count, seal.previous)
    assert inside[0].revision == seal.first_revision
    assert inside[-1].revision == seal.last_revision
    assert segment_digest(inside) == seal.sha256


async def test_an_empty_segment_has_a_seal_too(world: EtcdWorld) -> None:
    """The chain of seals has a link per segment."""
    await _write(world, 0, 0)

    seal = await world.log.seal(0, previous="")

    assert (0, 0, 0) == (seal.count, seal.first_revision, seal.last_revision)


async def test_a_segment_is_counted_up_to_a_limit(world: EtcdWorld) -> None:
    """The leader asks whether a segment is full, which must stay cheap."""
    await _write(world, 5)

    assert 5 == await world.log.segments.count(0, limit=10)
    assert 3 == await world.log.segments.count(0, limit=3)


async def test_an_event_that_was_changed_stops_the_reader(world: EtcdWorld) -> None:
    """Events are written once; anything else is not our history."""
    await _write(world, 1)
    (item,) = (await world.etcd.range(world.keys.events)).items
    await world.etcd.txn((), (Put(item.key, item.value),))

    with pytest.raises(Corrupt, match="events never change"):
        await world.log.read()


async def test_a_store_that_went_back_stops_the_reader(world: EtcdWorld) -> None:
    """After a restore from a backup, a follower would wait for a future that was already there."""
    await _write(world, 1)
    now = (await world.log.read()).through

    with pytest.raises(Corrupt, match="restored from a backup"):
        await world.log.read(after=now + 1_000_000)


async def test_a_missing_cut_stops_the_reader(world: EtcdWorld) -> None:
    """Without it a reader cannot know where to begin, and must not guess."""
    await _write(world, 1, 1)
    await world.etcd.txn((), (Delete(world.keys.segment_opening(1)),))

    with pytest.raises(Corrupt, match="the opening of segment 1 is missing"):
        await world.log.read()
