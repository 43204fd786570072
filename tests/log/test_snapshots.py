"""Snapshots: written whole or not at all, and never in the way."""

import attrs
import pytest
import structlog.testing

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log import snapshots
from dorm.ports.etcd import Delete, Put
from events.codec import digest, from_json, to_json
from events.errors import Fenced, Unavailable
from events.fold import fold
from events.state import ClusterState
from tests.builders import a_node, an_app, history
from tests.contracts.etcd_world import EtcdWorld
from tests.log.lossy import LossyEtcd

pytestmark = pytest.mark.etcd


def a_state(apps: int = 3, *, blob_kib: int = 1) -> ClusterState:
    """Return a state of so many applications; the blob in it compresses badly."""
    blob = "".join(digest(b"%d" % n) for n in range(blob_kib * 16))
    return fold(history(a_node(), *(an_app(f"app-{n}", env={"X": blob}) for n in range(apps))))


@pytest.fixture
async def epoch(etcd_client: EtcdClient, keys: Keys) -> int:
    """The epoch of the leader in office."""
    return await EtcdWorld.on(etcd_client, keys).elect()


async def test_there_is_none_at_first(etcd_client: EtcdClient, keys: Keys) -> None:
    """A new cluster folds from the beginning."""
    assert await snapshots.load(etcd_client, keys) is None


async def test_a_saved_state_is_loaded(etcd_client: EtcdClient, keys: Keys, epoch: int) -> None:
    """A master starts from it."""
    await snapshots.save(etcd_client, keys, a_state(), fence=epoch)

    assert a_state() == await snapshots.load(etcd_client, keys)


async def test_a_big_state_goes_in_chunks(
    etcd_client: EtcdClient, keys: Keys, epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Etcd takes 1.5 MiB in one request."""
    monkeypatch.setattr(snapshots, "CHUNK_BYTES", 500)
    state = a_state(200)

    await snapshots.save(etcd_client, keys, state, fence=epoch)

    found = await etcd_client.range(f"{keys.root}/snap/", keys_only=True)
    assert 1 + 4 <= len(found.items)
    assert state == await snapshots.load(etcd_client, keys)


async def test_a_newer_snapshot_replaces_the_older(
    etcd_client: EtcdClient, keys: Keys, epoch: int
) -> None:
    """The store keeps one, whatever a save that broke off left behind."""
    for apps, blob_kib in ((1, 4_000), (2, 1), (70, 1)):
        state = a_state(apps, blob_kib=blob_kib)
        await snapshots.save(etcd_client, keys, state, fence=epoch)

    found = await etcd_client.range(f"{keys.root}/snap/", keys_only=True)

    revisions = {item.key.split("/")[4] for item in found.items}
    assert {f"{a_state(70).revision:020d}", "latest"} == revisions
    assert a_state(70) == await snapshots.load(etcd_client, keys)


async def test_an_older_state_does_not_replace_a_newer(
    etcd_client: EtcdClient, keys: Keys, epoch: int
) -> None:
    """A slow leader's snapshot would throw work away."""
    await snapshots.save(etcd_client, keys, a_state(5), fence=epoch)

    await snapshots.save(etcd_client, keys, a_state(3), fence=epoch)

    assert a_state(5) == await snapshots.load(etcd_client, keys)


async def test_only_the_leader_in_office_saves(
    etcd_client: EtcdClient, keys: Keys, epoch: int
) -> None:
    """A paused old leader must not overwrite what its successor saved."""
    with pytest.raises(Fenced):
        await snapshots.save(etcd_client, keys, a_state(), fence=epoch + 1)

    assert await snapshots.load(etcd_client, keys) is None


async def test_a_save_that_breaks_off_leaves_the_one_before(
    lossy: LossyEtcd, keys: Keys, epoch: int
) -> None:
    """The pointer is written last."""
    await snapshots.save(lossy, keys, a_state(3), fence=epoch)
    lossy.losses.append("request")
    with pytest.raises(Unavailable):
        await snapshots.save(lossy, keys, a_state(5), fence=epoch)

    assert a_state(3) == await snapshots.load(lossy, keys)
    await snapshots.save(lossy, keys, a_state(5), fence=epoch)
    assert a_state(5) == await snapshots.load(lossy, keys)


async def test_a_damaged_snapshot_is_ignored_with_a_reason(
    etcd_client: EtcdClient, keys: Keys, epoch: int
) -> None:
    """The log has everything; a snapshot is only a memo."""
    await snapshots.save(etcd_client, keys, a_state(), fence=epoch)
    chunk = keys.snapshot_chunk(a_state().revision, 0)
    for change in (Put(chunk, b"damaged"), Delete(chunk), Put(keys.snapshot_latest, b"{")):
        await etcd_client.txn((), (change,))

        with structlog.testing.capture_logs() as lines:
            assert await snapshots.load(etcd_client, keys) is None
        assert ["snapshot.ignored"] == [line["event"] for line in lines]


async def test_a_snapshot_of_another_shape_of_state_is_ignored(
    etcd_client: EtcdClient, keys: Keys, epoch: int
) -> None:
    """Decoded by this version, its new fields would have defaults that no fold computed."""
    await snapshots.save(etcd_client, keys, a_state(), fence=epoch)
    item = await etcd_client.get(keys.snapshot_latest)
    assert item is not None
    older = attrs.evolve(from_json(item.value, snapshots.Pointer), schema="older")
    await etcd_client.txn((), (Put(keys.snapshot_latest, to_json(older)),))

    assert await snapshots.load(etcd_client, keys) is None

    await snapshots.save(etcd_client, keys, a_state(), fence=epoch)
    assert a_state() == await snapshots.load(etcd_client, keys)
