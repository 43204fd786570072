"""Answers above grpc's default limit of 4 MiB, with which the bare client loops for ever."""

import asyncio

import pytest

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.ports.etcd import Put

pytestmark = pytest.mark.etcd


async def test_a_range_of_many_mebibytes_arrives(etcd_client: EtcdClient, keys: Keys) -> None:
    """A thousand large events are one page."""
    for n in range(8):
        await etcd_client.txn((), (Put(f"{keys.root}/{n}", b"x" * 1_000_000),))

    found = await etcd_client.range(f"{keys.root}/")

    assert 8_000_000 == sum(len(item.value) for item in found.items)


async def test_a_watch_catches_up_over_many_mebibytes_in_whole_revisions(
    etcd_client: EtcdClient, keys: Keys
) -> None:
    """Etcd cuts its answer into fragments, also inside a revision; a reader must not see that."""
    prefix = f"{keys.root}/"
    first = (await etcd_client.txn((), (Put(prefix, b""),))).revision
    for n in range(8):
        puts = [Put(f"{prefix}{n}-{part}", b"x" * 14_000) for part in range(100)]
        await etcd_client.txn((), puts)
    seen: list[int] = []

    watch = etcd_client.watch(prefix, start_revision=first + 1)
    async with asyncio.timeout(15):
        while len(seen) < 800:
            batch = await anext(watch)
            assert 0 == len(batch) % 100
            seen += [change.item.mod_revision for change in batch]

    assert 8 == len(set(seen))
    assert sorted(seen) == seen
    await watch.aclose()  # type: ignore[attr-defined]
