"""Following the log: nothing lost, nothing twice."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dorm.clock import SystemClock, SystemRandomness
from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.tailer import Tailer
from dorm.ports.etcd import Etcd, Put, WatchEvent
from dorm.streams import closing
from events.errors import Corrupt
from events.recorded import Recorded
from tests.builders import BY_TEST, an_app
from tests.contracts.etcd_world import EtcdWorld
from tests.contracts.log_contract import read_all
from tests.log.lossy import LossyEtcd

pytestmark = pytest.mark.etcd

WAIT_S = 15.0


def a_tailer(etcd: Etcd, keys: Keys) -> Tailer:
    """Return a tailer with a reader of its own, as another process has."""
    log = EtcdLog(etcd, keys, producer="reader")
    return Tailer(etcd, keys, log=log, clock=SystemClock(), randomness=SystemRandomness())


async def take(batches: AsyncIterator[tuple[Recorded, ...]], count: int) -> list[Recorded]:
    """Return the next `count` events or more, up to the end of a batch."""
    found: list[Recorded] = []
    async with asyncio.timeout(WAIT_S):
        while len(found) < count:
            found += await anext(batches)
    return found


async def test_what_was_and_what_comes_join_without_a_gap(
    other: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """A master that starts reads the history, then follows."""
    await other.append((an_app("a"), an_app("b")), stamp=BY_TEST)
    batches = a_tailer(etcd_client, keys).batches()

    found = await take(batches, 2)
    await other.append((an_app("c"),), stamp=BY_TEST)
    await other.append((an_app("d"), an_app("e")), stamp=BY_TEST)
    found += await take(batches, 3)

    assert await read_all(other) == found
    await batches.aclose()


async def test_following_begins_behind_a_revision(
    other: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """After a snapshot, only the tail is folded."""
    revision = await other.append((an_app("a"),), stamp=BY_TEST)
    await other.append((an_app("b"),), stamp=BY_TEST)
    batches = a_tailer(etcd_client, keys).batches(revision)

    assert [an_app("b")] == [recorded.event for recorded in await take(batches, 1)]
    await batches.aclose()


async def test_an_idle_log_gives_signs_of_life(
    other: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """A master knows how stale it may be."""
    await other.bootstrap()
    batches = a_tailer(etcd_client, keys).batches()

    async with asyncio.timeout(WAIT_S):
        assert [(), (), ()] == [await anext(batches) for _ in range(3)]
    await batches.aclose()


async def test_a_broken_connection_loses_and_repeats_nothing(
    other: EtcdLog, lossy: LossyEtcd, keys: Keys
) -> None:
    """The tailer waits, reads on from its last event, and watches again."""
    await other.append((an_app("a"),), stamp=BY_TEST)
    batches = a_tailer(lossy, keys).batches()
    found = await take(batches, 1)

    lossy.cut = True
    await other.append((an_app("b"),), stamp=BY_TEST)
    waiting = asyncio.create_task(take(batches, 2))
    await asyncio.sleep(1.5)
    await other.append((an_app("c"),), stamp=BY_TEST)
    lossy.cut = False
    found += await waiting

    assert await read_all(other) == found
    await batches.aclose()


async def test_compaction_and_roll_over_lose_and_repeat_nothing(
    other: EtcdLog, lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """A follower that was away while its position was compacted lists again."""
    epoch = await EtcdWorld.on(etcd_client, keys).elect()
    batches = a_tailer(lossy, keys).batches()
    await other.append((an_app("0"),), stamp=BY_TEST)
    found = await take(batches, 1)
    for n in range(1, 6):
        lossy.cut = True
        await other.append((an_app(f"{n}"),), stamp=BY_TEST)
        await other.segments.roll_over(await other.segments.current(), fence=epoch)
        newest = await other.append((an_app(f"{n}b"),), stamp=BY_TEST)
        await etcd_client.compact(newest)
        lossy.cut = False
        found += await take(batches, 2)

    assert await read_all(other) == found
    await batches.aclose()


class _Repeating:
    """An `Etcd` whose watch sends everything twice, as etcd before 3.4.24 may."""

    def __init__(self, etcd: Etcd) -> None:
        self._etcd = etcd

    def __getattr__(self, name: str) -> object:
        return getattr(self._etcd, name)

    async def watch(
        self, prefix: str, *, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        watch = self._etcd.watch(prefix, start_revision=start_revision)
        async with closing(watch) as watched:
            async for batch in watched:
                yield batch
                yield batch


async def test_events_that_a_watch_sends_again_are_dropped(
    other: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """Folding one twice would stop the master."""
    await other.bootstrap()
    batches = a_tailer(_Repeating(etcd_client), keys).batches()  # type: ignore[arg-type]
    async with asyncio.timeout(WAIT_S):
        await anext(batches)
    for n in range(3):
        await other.append((an_app(f"{n}"),), stamp=BY_TEST)

    found = await take(batches, 3)
    async with asyncio.timeout(WAIT_S):
        assert () == await anext(batches)

    assert await read_all(other) == found
    await batches.aclose()


async def test_a_change_below_the_log_stops_the_tailer(
    other: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """A history that was edited under our eyes is not to be folded."""
    await other.append((an_app("a"),), stamp=BY_TEST)
    batches = a_tailer(etcd_client, keys).batches()
    await take(batches, 1)
    (item,) = (await etcd_client.range(keys.events)).items
    await etcd_client.txn((), (Put(item.key, item.value),))

    with pytest.raises(Corrupt, match="events never change"):
        await take(batches, 1)
