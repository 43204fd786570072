"""Members that die or freeze: calls go elsewhere, and nothing waits for ever."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dorm.etcd import EtcdClient, connect
from dorm.etcd.watch import SILENCE_S
from dorm.local.etcd_process import EtcdCluster, EtcdProcess
from dorm.ports.etcd import Put, WatchEvent
from events.errors import Unavailable

pytestmark = pytest.mark.etcd

STALL_S_MAX = 8.0  # an election takes up to 2 s, one lost try 0.7 s; the rest is a busy machine
WAIT_S = 15.0


@pytest.fixture
async def client(three_members: EtcdCluster) -> AsyncIterator[EtcdClient]:
    """A client of three members."""
    client = connect(three_members.endpoints)
    yield client
    await client.close()


def member_in_use(cluster: EtcdCluster, client: EtcdClient) -> EtcdProcess:
    """Return the member that the client talks to now."""
    return cluster.members[client._channels.pick()]


async def stall(client: EtcdClient) -> float:
    """Return how long the next write takes."""
    started = time.monotonic()
    await client.txn((), (Put("/a", b"1"),))
    return time.monotonic() - started


async def drain(watch: AsyncIterator[tuple[WatchEvent, ...]]) -> None:
    """Read a watch to its end, which it must have."""
    async with asyncio.timeout(WAIT_S):
        async for _ in watch:
            pass


async def first_change(watch: AsyncIterator[tuple[WatchEvent, ...]]) -> None:
    """Wait for a first change."""
    async with asyncio.timeout(WAIT_S):
        while not await anext(watch):
            pass


async def test_a_frozen_member_is_left(three_members: EtcdCluster, client: EtcdClient) -> None:
    """The bare client hangs until the server thaws (measured: 22 s, without an error)."""
    await stall(client)
    frozen = member_in_use(three_members, client)
    frozen.freeze()

    assert await stall(client) < STALL_S_MAX
    assert await client.get("/a") is not None
    assert 2 == len(await client.status())
    frozen.thaw()


async def test_a_dead_member_is_left_and_may_come_back(
    three_members: EtcdCluster, client: EtcdClient
) -> None:
    """The bare client knows one endpoint, and fails for as long as that is down."""
    await stall(client)
    dead = member_in_use(three_members, client)
    dead.kill()

    assert await stall(client) < STALL_S_MAX
    dead.restart()
    three_members.wait_until_healthy()
    async with asyncio.timeout(WAIT_S):
        while len(await client.status()) < 3:  # noqa: ASYNC110 - another process starts
            await asyncio.sleep(0.1)


async def test_a_watch_of_a_frozen_member_ends_with_an_error(
    three_members: EtcdCluster, client: EtcdClient
) -> None:
    """The bare watch stays silent (measured: 15 to 24 s, until the member came back)."""
    await stall(client)
    watch = client.watch("/a", start_revision=1)
    await anext(watch)
    frozen = member_in_use(three_members, client)
    frozen.freeze()

    started = time.monotonic()
    with pytest.raises(Unavailable):
        await drain(watch)
    waited_s = time.monotonic() - started
    again = client.watch("/a", start_revision=1)
    await first_change(again)

    frozen.thaw()
    assert waited_s < SILENCE_S + 2.0
    await again.aclose()  # type: ignore[attr-defined]


async def test_a_watch_of_a_dead_member_ends_and_uses_no_cpu(
    three_members: EtcdCluster, client: EtcdClient
) -> None:
    """The bare watch retries in a busy loop (measured: 4.9 CPU seconds in a 10 s outage)."""
    await stall(client)
    watch = client.watch("/a", start_revision=1)
    await anext(watch)
    for member in three_members.members:
        member.kill()

    with pytest.raises(Unavailable):
        await drain(watch)
    used_s = time.process_time()
    await asyncio.sleep(1.0)

    assert time.process_time() - used_s < 0.3


async def test_without_any_member_a_call_ends_in_time(etcd_binary: Path, tmp_path: Path) -> None:
    """The bare client has no deadline at all."""
    cluster = EtcdCluster.start(etcd_binary, data_dir=tmp_path, fsync=False)
    client = connect(cluster.endpoints, total_s=2.0)
    await stall(client)
    try:
        cluster.members[0].freeze()
        started = time.monotonic()
        with pytest.raises(Unavailable, match="etcd did not answer"):
            await client.get("/a")
        assert time.monotonic() - started < 4.0
        assert () == await client.status()
    finally:
        cluster.stop()
        await client.close()


async def test_a_member_without_quorum_says_so(
    three_members: EtcdCluster, client: EtcdClient
) -> None:
    """A call to it must end, and a watch of it must not look healthy."""
    await stall(client)
    watch = client.watch("/a", start_revision=1)
    await anext(watch)
    kept = member_in_use(three_members, client)
    for member in three_members.members:
        if member is not kept:
            member.kill()

    with pytest.raises(Unavailable):
        await drain(watch)
