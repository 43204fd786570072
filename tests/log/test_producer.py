"""Each batch exactly once, whatever answers get lost."""

import asyncio

import pytest

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from events.codec import digest, encode
from events.errors import Corrupt, Fenced, Unavailable
from tests.builders import BY_TEST, an_app, node_lost
from tests.contracts.etcd_world import EtcdWorld
from tests.contracts.log_contract import read_all
from tests.log.lossy import Loss, LossyEtcd

pytestmark = pytest.mark.etcd


async def ids(log: EtcdLog) -> list[str]:
    """Return the applications in the log, in order."""
    return [recorded.event.app_id for recorded in await read_all(log)]  # type: ignore[union-attr]


async def test_a_lost_reply_is_settled_as_written(log: EtcdLog, lossy: LossyEtcd) -> None:
    """The event is there; writing it again would make it happen twice."""
    lossy.losses.append("reply")
    with pytest.raises(Unavailable):
        await log.append((an_app("a"),), stamp=BY_TEST)

    revision = await log.settle()

    (recorded,) = await read_all(log)
    assert recorded.revision == revision
    assert await log.settle() is None


async def test_a_lost_request_is_settled_by_writing_it(log: EtcdLog, lossy: LossyEtcd) -> None:
    """It may be under way for a long time yet, so it must be written, not given up."""
    lossy.losses.append("request")
    with pytest.raises(Unavailable):
        await log.append((an_app("a"),), stamp=BY_TEST)

    revision = await log.settle()
    late = await lossy.deliver_late()

    assert [False] == [result.succeeded for result in late]
    (recorded,) = await read_all(log)
    assert recorded.revision == revision


async def test_an_open_batch_goes_before_the_next(log: EtcdLog, lossy: LossyEtcd) -> None:
    """The order of a producer is the order of its calls, and its chain has no fork."""
    losses: tuple[Loss, ...] = ("reply", "request")
    for loss in losses:
        lossy.losses.append(loss)
        with pytest.raises(Unavailable):
            await log.append((an_app(f"{loss}-1"),), stamp=BY_TEST)
        await log.append((an_app(f"{loss}-2"),), stamp=BY_TEST)

    assert ["reply-1", "reply-2", "request-1", "request-2"] == await ids(log)
    found = await read_all(log)
    assert [digest(encode(recorded)) for recorded in found[:-1]] == [
        recorded.previous for recorded in found[1:]
    ]


async def test_settle_reports_what_another_call_has_settled(log: EtcdLog, lossy: LossyEtcd) -> None:
    """A leader must learn of its own decision even if a submit came in between."""
    lossy.losses.append("reply")
    with pytest.raises(Unavailable):
        await log.append((an_app("a"),), stamp=BY_TEST)
    await log.submit(an_app("b"), key="k", stamp=BY_TEST)

    revision = await log.settle()

    assert (await read_all(log))[0].revision == revision
    assert await log.settle() is None


async def test_an_open_batch_of_a_past_leader_is_refused_for_good(
    log: EtcdLog, lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """Its decision is void, also when the lost request arrives after all."""
    world = EtcdWorld.on(etcd_client, keys)
    old = await world.elect()
    lossy.losses.append("request")
    with pytest.raises(Unavailable):
        await log.append((an_app("a"),), stamp=BY_TEST, fence=old)
    await world.elect()

    assert await log.settle() is None
    await lossy.deliver_late()

    assert [] == await ids(log)
    await log.append((an_app("b"),), stamp=BY_TEST)
    assert ["b"] == await ids(log)


async def test_a_leader_learns_that_it_was_written_before_it_fell(
    log: EtcdLog, lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """The event counts although its leader is gone: it was written in office."""
    world = EtcdWorld.on(etcd_client, keys)
    old = await world.elect()
    lossy.losses.append("reply")
    with pytest.raises(Unavailable):
        await log.append((an_app("a"),), stamp=BY_TEST, fence=old)
    await world.elect()

    assert await log.settle() is not None
    assert ["a"] == await ids(log)


async def test_a_submit_is_safe_to_repeat_after_a_lost_reply(
    log: EtcdLog, lossy: LossyEtcd
) -> None:
    """The user presses enter again and gets the application that exists."""
    lossy.losses.append("reply")
    with pytest.raises(Unavailable):
        await log.submit(an_app("a", name="x"), key="k", stamp=BY_TEST)

    receipt = await log.submit(an_app("b", name="x"), key="k", stamp=BY_TEST)

    assert "a" == receipt.app_id
    assert ["a"] == await ids(log)


async def test_a_cancelled_append_stays_open_until_it_is_settled(log: EtcdLog) -> None:
    """A caller that gives up does not know either whether it was written."""
    task = asyncio.create_task(log.append((an_app("a"),), stamp=BY_TEST))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await log.settle()
    await log.append((an_app("b"),), stamp=BY_TEST)

    assert ["b"] == (await ids(log))[-1:]
    assert len(await ids(log)) == len(set(await ids(log)))


async def test_an_append_follows_a_roll_over(
    log: EtcdLog, other: EtcdLog, lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """Its guard refuses the closed segment; the batch goes into the next, once."""
    epoch = await EtcdWorld.on(etcd_client, keys).elect()
    await log.append((an_app("a"),), stamp=BY_TEST)
    lossy.losses.append("request")
    with pytest.raises(Unavailable):
        await log.append((an_app("b"),), stamp=BY_TEST)
    assert 1 == await other.segments.roll_over(await other.segments.current(), fence=epoch)

    await log.settle()
    await lossy.deliver_late()
    await log.append((an_app("c"),), stamp=BY_TEST)

    assert ["a", "b", "c"] == await ids(other)
    assert [0, 1, 1] == [recorded.segment for recorded in await read_all(other)]


async def test_a_batch_written_before_a_roll_over_is_not_written_again_behind_it(
    log: EtcdLog, other: EtcdLog, lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """In the new segment its key is free, so only the cursor tells that it is there already."""
    epoch = await EtcdWorld.on(etcd_client, keys).elect()
    await log.append((an_app("a"),), stamp=BY_TEST)
    lossy.losses.append("reply")
    with pytest.raises(Unavailable):
        await log.append((an_app("b"),), stamp=BY_TEST)
    await other.segments.roll_over(await other.segments.current(), fence=epoch)

    revision = await log.settle()

    assert ["a", "b"] == await ids(other)
    assert (await read_all(other))[1].revision == revision


async def test_a_late_request_is_refused_also_before_the_retry(
    log: EtcdLog, lossy: LossyEtcd
) -> None:
    """Two tries of one batch may both be under way; the first that arrives is the only one."""
    lossy.losses.extend(("request", "request"))
    for call in (log.append((an_app("a"),), stamp=BY_TEST), log.settle()):
        with pytest.raises(Unavailable):
            await call

    late = await lossy.deliver_late()

    assert [True, False] == [result.succeeded for result in late]
    assert await log.settle() is not None
    assert ["a"] == await ids(log)


@pytest.mark.parametrize("rolled_over", [False, True])
async def test_a_name_used_before_is_refused(
    etcd_client: EtcdClient, keys: Keys, other: EtcdLog, *, rolled_over: bool
) -> None:
    """Else two chains would have one name, and an event of the second might pass for written."""
    epoch = await EtcdWorld.on(etcd_client, keys).elect()
    first, second = (EtcdLog(etcd_client, keys, producer="m1") for _ in range(2))
    await first.append((an_app("a"),), stamp=BY_TEST)
    if rolled_over:  # where the keys of its events are free
        await other.segments.roll_over(await other.segments.current(), fence=epoch)

    with pytest.raises(Corrupt, match="another process has its name"):
        await second.append((an_app("b"),), stamp=BY_TEST)

    assert ["a"] == await ids(other)


async def test_a_fenced_append_says_who_leads(
    log: EtcdLog, etcd_client: EtcdClient, keys: Keys
) -> None:
    """The log line of the master that steps down names both epochs."""
    epoch = await EtcdWorld.on(etcd_client, keys).elect()

    with pytest.raises(Fenced, match=f"epoch {epoch + 1} is over: epoch {epoch} is in office"):
        await log.append((node_lost(),), stamp=BY_TEST, fence=epoch + 1)
