"""Room in etcd, in the whole cluster: what leaves is not missed, and a full store is survived."""

import asyncio

from dorm.log.etcd_log import EtcdLog
from dorm.space.archive import Archive
from events.errors import Archived
from events.recorded import Recorded
from tests.simulation.cluster import CLUSTER, SPACE, Cluster
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.files import Disk, SimFiles
from tests.simulation.process import Process
from tests.simulation.script import all_running, an_errand, leaders, sound, until
from tests.simulation.simulation import run_script
from tests.simulation.users import Errand


async def read_everything(cluster: Cluster) -> list[Recorded]:
    """Read archive and log as one history, as `dorm-events` does."""
    process = Process("reader", 1)
    log = EtcdLog(
        SimEtcdClient(cluster.store, process, NetworkFaults()), cluster.keys, producer="reader"
    )
    files = SimFiles(Disk(cluster._shared), process)
    archive = Archive(files, SPACE.archive, cluster=CLUSTER)
    found: list[Recorded] = []
    after = 0
    while True:
        try:
            page = await log.read(after=after)
        except Archived as gone:
            for number in range(found[-1].segment if found else 0, gone.segment):
                found += [one for one in await archive.read(number) if one.revision > after]
            after = gone.revision
            continue
        found += page.recorded
        after = page.through
        if page.at_end:
            return found


def many(count: int) -> tuple[Errand, ...]:
    """Return short trainings, one after the other."""
    return tuple(an_errand(f"a{n}", steps=60, after_s=4.0) for n in range(count))


def test_archive_and_log_are_one_history_and_masters_need_only_the_log() -> None:
    """Segments leave while the cluster works; a master that starts late knows all the same."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", many(8))
        await until(cluster, lambda: len(cluster.archived.dropped) >= 2)
        name = next(name for name in cluster.masters if name != cluster.leader)
        cluster.masters[name][0].kill()
        cluster.start_master(name)
        _, master = cluster.masters[name]
        await until(cluster, lambda: master.state().revision > 0)
        assert master.events_read() < len(cluster.checker.recorded) / 2
        there = len(cluster.checker.recorded)
        found = await read_everything(cluster)
        assert len(found) >= there
        assert found == cluster.checker.recorded[: len(found)]

    sound(run_script(5, script))


def test_a_follower_that_slept_through_it_goes_on_from_a_snapshot() -> None:
    """What it has not read has left the log; its state must not get a hole."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", many(12))
        await all_running(cluster)
        name = next(name for name in cluster.masters if name != cluster.leader)
        process, master = cluster.masters[name]
        process.pause()
        at = master.state().revision
        segment = next(r.segment for r in cluster.checker.recorded if r.revision >= at)
        await until(cluster, lambda: segment in cluster.archived.dropped)
        process.resume()
        end = cluster.checker.recorded[-1].revision
        await until(cluster, lambda: master.state().revision >= end)

    sound(run_script(6, script))


def test_the_store_is_compacted_while_the_cluster_works() -> None:
    """Agents write every second; without compaction each of these writes stays for ever."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", many(2))
        await until(cluster, lambda: cluster.store.compacted > 50)
        assert cluster.store.compacted < cluster.store.revision

    sound(run_script(7, script))


def test_a_full_store_costs_time_and_nothing_else() -> None:
    """The leader stays, no container stops, and all goes on when there is room again."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand("a", steps=400), an_errand("b", steps=400)))
        before = await all_running(cluster)
        terms = leaders(cluster)
        cluster.store.full = True
        await asyncio.sleep(60)
        assert set(before) <= set(cluster.checker.running), "a container was stopped"
        assert terms == leaders(cluster)
        leader = cluster.leader
        assert leader == terms[-1]
        cluster.store.full = False

    sound(run_script(8, script))
