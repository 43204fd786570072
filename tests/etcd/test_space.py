"""A store that fills up: foreseen, survived when full, and emptied without losing anything."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from string import ascii_lowercase

import pytest

from dorm.api.service import Service
from dorm.clock import SystemClock, SystemRandomness
from dorm.config import ClusterConfig, MasterConfig, SpaceConfig
from dorm.doctor import Finding
from dorm.etcd import EtcdClient, connect
from dorm.files import SystemFiles
from dorm.history.source import EtcdSource
from dorm.history.verify import verify
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from dorm.master.master import Master
from dorm.planner.inline import InlinePlanner
from dorm.ports.etcd import Compare, Delete, Get, Put
from dorm.space.archive import Archive
from dorm.space.levels import Level
from dorm.space.watching import SpaceWatch
from events.errors import Fenced, Full, NoSpace, NotFound, Unavailable
from events.log import Receipt
from tests.builders import BY_TEST, an_app, app_failed

pytestmark = pytest.mark.etcd

CLUSTER = "space"
KEYS = Keys(CLUSTER)
QUOTA = 16 << 20
WORDS = "".join(Random(1).choices(ascii_lowercase, k=900))
EVENT_BYTES = 1_150  # with its envelope
BATCH = [app_failed(f"nobody-{n}", reason=WORDS) for n in range(50)]
TTL_S = 6.0


@pytest.fixture
def store(etcd_binary: Path, tmp_path: Path) -> Iterator[EtcdCluster]:
    """Three members with little room."""
    cluster = EtcdCluster.start(
        etcd_binary, data_dir=tmp_path / "etcd", size=3, fsync=False, quota_bytes=QUOTA
    )
    yield cluster
    cluster.stop()


@pytest.fixture
async def client(store: EtcdCluster) -> AsyncIterator[EtcdClient]:
    """A client of theirs."""
    client = connect(store.endpoints)
    yield client
    await client.close()


def a_master(client: EtcdClient, *, name: str = "m1", archive: str = "") -> Master:
    """A master that has the log in small pieces, and little history."""
    config = MasterConfig(
        name=name,
        cluster=ClusterConfig(cluster=CLUSTER),
        lease_ttl_s=TTL_S,
        segment_events_max=1_000,
        snapshot_every=100,
        space=SpaceConfig(
            archive=archive,
            retain_events=2_000,
            quota_bytes=QUOTA,
            compact_every_s=0.5,
            history_s=1.0,
        ),
    )
    return Master(
        config,
        etcd=client,
        log=a_log(client, f"{name}.lead"),
        planner=InlinePlanner(),
        clock=SystemClock(),
        randomness=SystemRandomness(),
        archive=Archive(SystemFiles(), archive, cluster=CLUSTER) if archive else None,
    )


def a_log(client: EtcdClient, name: str) -> EtcdLog:
    """A log with a writer of its own."""
    return EtcdLog(client, KEYS, producer=f"{name}.{SystemRandomness().token(6)}")


@asynccontextmanager
async def leading(master: Master) -> AsyncIterator[Master]:
    """Run a master, and wait until it leads."""
    running = asyncio.create_task(master.run())
    try:
        async with asyncio.timeout(20):
            while master.state().leader != master._config.name:  # noqa: ASYNC110 - another task's work
                await asyncio.sleep(0.1)
        yield master
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        with suppress(Unavailable):
            await master.resign()


async def write(log: EtcdLog, count: int) -> int:
    """Append batches of events that change no state, but are kept; return how many were taken."""
    for n in range(count):
        try:
            await log.append(BATCH, stamp=BY_TEST)
        except NoSpace:
            return n
    return count


async def dorm(*args: str) -> tuple[int, str]:
    """Run the command; return its exit code and all that it said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "dorm", *args),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, said.decode()


async def no_findings() -> Sequence[Finding]:
    """A doctor that is not asked here."""
    return ()


async def submitted(service: Service, name: str) -> Receipt:
    """Submit an application as a user does."""
    return await service.submit(an_app(name).spec, key=name, user="ann")


async def test_a_full_store_is_foreseen_survived_and_reclaimed(  # noqa: PLR0915 - one long story
    store: EtcdCluster, client: EtcdClient, tmp_path: Path
) -> None:
    """New work is refused first; the leader outlives a full store; a command makes room in it."""
    archive = tmp_path / "archive"
    archive.mkdir()
    writer = a_log(client, "writer")
    async with leading(a_master(client)) as master:
        epoch = master.state().epoch
        service = Service(
            name="m1",
            log=a_log(client, "api"),
            clock=SystemClock(),
            randomness=SystemRandomness(),
            view=master,
            findings=no_findings,
        )
        first = await submitted(service, "early")

        # Refused in time.
        while master.space().level < Level.NO_SUBMITS:
            assert 20 == await write(writer, 20), "etcd was full before the limit"
            await writer.segments.roll_over(await writer.segments.current(), fence=epoch)
            await master._space.look()
        now = (await writer.segments.current()).number
        async with asyncio.timeout(20):
            while master.state().sealed_segment < now - 1:  # noqa: ASYNC110 - another task's work
                await asyncio.sleep(0.2)
        async with asyncio.timeout(60):  # A snapshot waits until the log was listed again.
            while await client.get(KEYS.snapshot_latest) is None:  # noqa: ASYNC110 - a poll does
                await asyncio.sleep(0.5)
        with pytest.raises(Full, match=r"is not accepted: etcd is at [89]"):
            await submitted(service, "late")
        assert (first.app_id, True) == (
            (again := await submitted(service, "early")).app_id,
            again.duplicate,
        )
        await service.cancel(first.app_id, user="ann")
        # Full.
        while await write(writer, 10) == 10:
            assert (await writer.segments.current()).number == now, "it is cut no more"
        await master._space.look()
        assert Level.FULL is master.space().level
        with pytest.raises(NoSpace, match="dorm admin reclaim"):
            await client.grant(5)
        await asyncio.sleep(1.5 * TTL_S)
        held = await client.get(KEYS.leader)
        assert held is not None, "the leader lost its lease"
        assert epoch == held.create_revision == master.state().epoch
        await a_write_that_takes_no_space_is_agreed_on(client, held.create_revision)

        # Reclaimed, by an operator who asks no master.
        where = ("--etcd", store.endpoints[0], "--cluster", CLUSTER)
        code, said = await dorm(
            *("admin", "reclaim", *where, "--yes", "--etcd-quota", "16MiB"),
            *("--archive", str(archive), "--keep-events", "2000"),
        )
        assert 0 == code, said
        assert 3 == said.count("is defragmented"), said
        assert "alarm NOSPACE of member" in said
        await master._space.look()
        assert Level.ROOMY is master.space().level, said
        assert not any(status.no_space for status in await client.status())

        # The open batch of the writer, refused when it was full, is written now, and once.
        await writer.settle()
        assert 1 == await write(writer, 1)
        assert await submitted(service, "later")

    # A master that starts needs nothing of what left etcd.
    async with leading(a_master(client, name="m2")) as later:
        assert "later" in {app.spec.name for app in later.state().apps.values()}
        assert later.events_read() < 8_000

    def history() -> None:
        everything = list(EtcdSource(store.endpoints, CLUSTER, str(archive)).events())
        report = verify(everything)
        assert () == report.problems
        assert 0 == everything[0].segment
        with pytest.raises(NotFound, match="has left etcd"):
            next(EtcdSource(store.endpoints, CLUSTER).events())
        oldest = archive / CLUSTER / "segment-00000000.jsonl.zst"
        oldest.rename(f"{oldest}.away")
        with pytest.raises(NotFound, match=r"segment-00000000.* is no file"):
            list(EtcdSource(store.endpoints, CLUSTER, str(archive)).events())

    await asyncio.to_thread(history)


async def a_write_that_takes_no_space_is_agreed_on(client: EtcdClient, epoch: int) -> None:
    """To delete what is not there goes through etcd's log, guards and all, and makes no revision.

    So it proves what a put would prove, in a full store too. A put in the branch that is not taken
    is refused.
    """
    nothing = (Delete(f"{KEYS.root}/nothing"),)
    held, broken = (Compare(KEYS.leader, "create", one) for one in (epoch, epoch + 1))
    before = await client.txn((held,), nothing)
    assert before.succeeded
    assert not (await client.txn((broken,), nothing, (Get(KEYS.leader),))).succeeded
    assert before.revision == (await client.txn((held,), nothing)).revision
    with pytest.raises(NoSpace):
        await client.txn((broken,), (Put(f"{KEYS.root}/x", b""),), (Get(KEYS.leader),))


async def test_a_leader_with_an_archive_keeps_the_store_small(
    store: EtcdCluster, client: EtcdClient, tmp_path: Path
) -> None:
    """Half more than fits is written, at the pace that the limits allow, and all of it is kept."""
    archive = str(tmp_path / "archive")
    writer = a_log(client, "writer")
    watch = SpaceWatch(client, clock=SystemClock(), quota_bytes=QUOTA)
    wanted, taken = 3 * QUOTA // 2 // EVENT_BYTES, 0
    async with leading(a_master(client, archive=archive)) as master, asyncio.timeout(120):
        while taken < wanted:
            await watch.look()
            if watch.now.level >= Level.NO_SUBMITS:
                await asyncio.sleep(0.2)
                continue
            assert 20 == await write(writer, 20), "the store got full"
            taken += 20 * len(BATCH)
            with suppress(
                Fenced
            ):  # On a busy machine it may have lost its office, and won it again.
                epoch = master.state().epoch
                await writer.segments.roll_over(await writer.segments.current(), fence=epoch)

    def history() -> None:
        everything = list(EtcdSource(store.endpoints, CLUSTER, archive).events())
        assert () == verify(everything).problems
        assert taken == sum(one.event in BATCH for one in everything)

    await asyncio.to_thread(history)
