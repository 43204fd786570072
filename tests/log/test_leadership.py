"""One leader at a time, found out by everyone."""

import asyncio

import pytest

from dorm.clock import SystemClock, SystemRandomness
from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log.leadership import MARGIN_S, Leadership
from dorm.ports.etcd import Etcd
from events.errors import Fenced
from tests.log.lossy import LossyEtcd

pytestmark = pytest.mark.etcd

TTL_S = 2.0
WAIT_S = 15.0


def a_master(etcd: Etcd, keys: Keys, name: str) -> Leadership:
    """Return a master's bid for office."""
    return Leadership(
        etcd,
        keys,
        name=name,
        ttl_s=TTL_S,
        clock=SystemClock(),
        randomness=SystemRandomness(),
    )


async def test_the_epoch_is_the_create_revision_of_the_leader_key(
    etcd_client: EtcdClient, keys: Keys
) -> None:
    """Every guarded write compares exactly that."""
    master = a_master(etcd_client, keys, "m1")

    epoch = await master.campaign()

    found = await etcd_client.get(keys.leader)
    assert found is not None
    assert found.create_revision == epoch == master.epoch
    assert b'"master":"m1"' in found.value
    assert master.still_mine()
    await master.resign()


async def test_a_resigned_office_is_taken_at_once(etcd_client: EtcdClient, keys: Keys) -> None:
    """A planned restart must not cost a lease's time."""
    first, second = (a_master(etcd_client, keys, name) for name in ("m1", "m2"))
    old = await first.campaign()
    waiting = asyncio.create_task(second.campaign())
    await asyncio.sleep(0.3)
    assert not waiting.done()

    await first.resign()
    async with asyncio.timeout(1.0):
        new = await waiting

    assert new > old
    assert not first.still_mine()
    await second.resign()


async def test_the_office_of_a_dead_leader_falls_free(etcd_client: EtcdClient, keys: Keys) -> None:
    """Nobody renews its lease, so it runs out and another master takes over."""
    first, second = (a_master(etcd_client, keys, name) for name in ("m1", "m2"))
    old = await first.campaign()

    async with asyncio.timeout(WAIT_S):
        assert await second.campaign() > old

    assert not first.still_mine(), "its own clock told it to stop before the lease was gone"
    await second.resign()


async def test_a_leader_that_renews_stays(etcd_client: EtcdClient, keys: Keys) -> None:
    """Leadership outlives its lease's time by renewal, under one epoch."""
    first, second = (a_master(etcd_client, keys, name) for name in ("m1", "m2"))
    epoch = await first.campaign()
    keeping = asyncio.create_task(first.keep())
    waiting = asyncio.create_task(second.campaign())

    await asyncio.sleep(2 * TTL_S)

    assert first.still_mine()
    assert epoch == first.epoch
    assert not waiting.done()
    for task in (keeping, waiting):
        task.cancel()
    await asyncio.gather(keeping, waiting, return_exceptions=True)
    await first.resign()


async def test_a_leader_without_etcd_stops_before_its_lease_is_gone(
    lossy: LossyEtcd, keys: Keys
) -> None:
    """By its own clock, with a margin, so that two masters hardly ever act at once."""
    master = a_master(lossy, keys, "m1")
    await master.campaign()
    started = SystemClock().monotonic()
    lossy.cut = True

    with pytest.raises(Fenced):
        await master.keep()

    assert SystemClock().monotonic() - started < TTL_S - MARGIN_S + 0.7
    assert not master.still_mine()


async def test_a_leader_whose_lease_was_revoked_stops(etcd_client: EtcdClient, keys: Keys) -> None:
    """Etcd answers the renewal with a time to live of 0."""
    master = a_master(etcd_client, keys, "m1")
    await master.campaign()
    found = await etcd_client.get(keys.leader)
    assert found is not None
    await etcd_client.revoke(found.lease)

    async with asyncio.timeout(WAIT_S):
        with pytest.raises(Fenced):
            await master.keep()


async def test_a_campaign_whose_answer_was_lost_is_won_all_the_same(
    lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """The master recognizes its own key instead of waiting for itself."""
    lossy.losses.append("reply")
    master = a_master(lossy, keys, "m1")

    async with asyncio.timeout(WAIT_S):
        epoch = await master.campaign()

    found = await etcd_client.get(keys.leader)
    assert found is not None
    assert found.create_revision == epoch
    await master.resign()


async def test_resigning_never_removes_a_successor(
    lossy: LossyEtcd, etcd_client: EtcdClient, keys: Keys
) -> None:
    """A resignation that arrives late is guarded by its own epoch."""
    first, second = a_master(lossy, keys, "m1"), a_master(etcd_client, keys, "m2")
    await first.campaign()
    lossy.losses.append("request")
    await first.resign()
    async with asyncio.timeout(WAIT_S):
        epoch = await second.campaign()

    await lossy.deliver_late()

    found = await etcd_client.get(keys.leader)
    assert found is not None
    assert found.create_revision == epoch
    await second.resign()


async def test_of_many_candidates_one_wins(etcd_client: EtcdClient, keys: Keys) -> None:
    """The store decides."""
    masters = [a_master(etcd_client, keys, f"m{n}") for n in range(5)]
    tasks = [asyncio.create_task(master.campaign()) for master in masters]

    done, waiting = await asyncio.wait(tasks, timeout=1.0)

    assert (1, 4) == (len(done), len(waiting))
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for master in masters:
        await master.resign()
