"""A store restored from a backup under running containers: frozen, until an operator speaks."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import attrs
import pytest

from dorm.ports.etcd import Compare, Delete, Get, Operation, Put, TxnResult
from dorm.store import Alarm
from events.codec import from_json
from events.control import StoreEpochBegan
from events.errors import Conflict
from events.recorded import Stamp
from tests.simulation.cluster import Cluster, Parts
from tests.simulation.docker import Container
from tests.simulation.etcd import SimEtcdClient
from tests.simulation.etcd_store import Backup
from tests.simulation.script import all_running, an_errand, sound, until
from tests.simulation.simulation import run_script

OPERATOR = Stamp(at_ms=0, actor="user/ann")


class _Stale(SimEtcdClient):
    """Some of its reads of the mark are from a moment ago."""

    answers: ClassVar[int] = 0

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        result = await super().txn(compares, success, failure)
        reads = not compares and all(isinstance(one, Get) for one in success)
        if reads and success[0].key.endswith("/store") and _Stale.answers:
            _Stale.answers -= 1
            return attrs.evolve(result, revision=result.revision - 3)
        return result


def alarms(cluster: Cluster) -> dict[str, Alarm]:
    """Return the alarms in the store, by witness."""
    found = cluster.store.range(cluster.keys.alarms, "", 0, keys_only=False)
    return {one.witness: one for one in (from_json(item.value, Alarm) for item in found.items)}


async def all_held(cluster: Cluster) -> None:
    """Wait until every agent and every master has raised its alarm."""
    names = {f"node/{node_id}" for node_id in cluster.machines}
    names |= {f"master/{name}" for name in cluster.masters}
    await until(cluster, lambda: alarms(cluster).keys() == names)


async def new_epoch(cluster: Cluster, *, after: int = 1) -> int:
    """Let an operator begin an epoch; return its number."""
    _, master = next(iter(cluster.masters.values()))
    return (await master.begin_epoch(after=after, stamp=OPERATOR)).epoch


async def run_then_back_up(cluster: Cluster) -> tuple[Backup, tuple[Container, ...]]:
    """Run an application, back up, and let a second one make the first another generation."""
    cluster.start_user("ann", (an_errand("a", steps=3_000, most=12),))
    await all_running(cluster)
    backup = cluster.store.snapshot()
    cluster.start_user("bob", (an_errand("b", steps=3_000, most=6, after_s=0.1),))
    await until(cluster, lambda: len(cluster.checker.state.apps) == 2)
    running = await all_running(cluster)
    assert {1, 2} == {container.generation for container in running}
    await asyncio.sleep(5)
    return backup, running


async def settle(cluster: Cluster, *, after: int = 1) -> None:
    """Begin an epoch, and wait until every node has entered it."""
    epoch = await new_epoch(cluster, after=after)
    await until(cluster, lambda: cluster.checker.state.store_epoch == epoch)
    await until(cluster, lambda: not cluster.checker.state.unsettled)


def cancel_all(cluster: Cluster) -> None:
    """End what would train for an hour, so that the run converges."""
    for app_id in cluster.checker.state.apps:
        cluster.cancel(app_id)


def test_after_a_restore_nothing_starts_and_nothing_stops_and_everybody_says_so() -> None:
    """The restored log knows neither the second application nor the newest generation."""

    async def script(cluster: Cluster) -> None:
        backup, before = await run_then_back_up(cluster)
        cluster.store.restore(backup)
        await all_held(cluster)
        await asyncio.sleep(120)
        assert before == cluster.checker.running
        for name, (process, master) in cluster.masters.items():
            assert process.alive
            assert not master.is_leader()
            assert master.hold(), name
        await settle(cluster)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_in_the_new_epoch_the_cluster_converges_on_the_restored_log() -> None:
    """What it knows is adopted or started anew, what it does not know is gone before."""

    async def script(cluster: Cluster) -> None:
        backup, before = await run_then_back_up(cluster)
        cluster.store.restore(backup)
        await all_held(cluster)
        assert 2 == await new_epoch(cluster)
        await until(cluster, lambda: cluster.checker.state.store_epoch == 2)
        assert set(cluster.machines) == set(cluster.checker.state.unsettled)
        await until(cluster, lambda: not cluster.checker.state.unsettled)
        assert {"a"} == {app.app_id[0] for app in cluster.checker.state.apps.values()}
        running = await all_running(cluster)
        assert not set(before) & set(running)
        assert {} == alarms(cluster)
        assert all(not master.hold() for _, master in cluster.masters.values())
        (began,) = [
            one.event for one in cluster.checker.recorded if isinstance(one.event, StoreEpochBegan)
        ]
        assert began.lost_revision > began.found_revision >= backup.revision
        assert len(began.witnesses) == len(cluster.machines) + len(cluster.masters)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_containers_that_the_restored_log_knows_are_adopted() -> None:
    """What has not changed since the backup costs not a single step of training."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand("a", steps=3_000),))
        before = await all_running(cluster)
        await asyncio.sleep(5)
        backup = cluster.store.snapshot()
        for _ in range(20):  # Other clusters share the etcd.
            cluster.store.txn((), (Put("/dorm/other/leader", b""),), ())
        await asyncio.sleep(5)
        cluster.store.restore(backup)
        await all_held(cluster)
        await settle(cluster)
        await asyncio.sleep(30)
        assert before == cluster.checker.running
        cancel_all(cluster)

    sound(run_script(1, script))


def test_a_master_that_knows_nothing_better_leads_and_no_agent_obeys() -> None:
    """It is started after the restore, and decides, before the first alarm is there."""

    async def script(cluster: Cluster) -> None:
        backup, before = await run_then_back_up(cluster)
        for process, _ in cluster.masters.values():
            process.kill()
        for machine in cluster.machines.values():
            machine.process.cut_off()  # Shorter than a node's right to run lasts.
        cluster.store.restore(backup)
        cluster.store.txn((), (Delete(cluster.keys.leader),), ())
        written = len(cluster.checker.recorded)
        cluster.restart_dead()
        await asyncio.sleep(3)
        decided = cluster.checker.recorded[written:]
        assert any(one.stamp.actor.startswith("master/") for one in decided)
        documents = cluster.store.range(cluster.keys.desireds, "", 0, keys_only=False).items
        assert any(one.mod_revision > backup.revision for one in documents)
        for machine in cluster.machines.values():
            machine.process.join()
        await until(cluster, lambda: len(alarms(cluster)) == len(cluster.machines))
        await asyncio.sleep(60)
        assert before == cluster.checker.running
        assert all(master.hold() for _, master in cluster.masters.values())
        assert cluster.leader is None
        await settle(cluster)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_agents_that_are_started_after_the_restore_remember() -> None:
    """A whole cluster that was switched off meanwhile must not fall for the backup either."""

    async def script(cluster: Cluster) -> None:
        backup, before = await run_then_back_up(cluster)
        for process in cluster.processes:
            process.kill()
        cluster.store.restore(backup)
        cluster.restart_dead()
        await until(cluster, lambda: len(alarms(cluster)) == len(cluster.machines))
        for machine in cluster.machines.values():
            machine.process.kill()
        cluster.restart_dead()
        await asyncio.sleep(60)
        assert before == cluster.checker.running
        await settle(cluster)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_a_second_restore_of_the_same_backup_is_found_out() -> None:
    """The second time the store comes back to an epoch that is over."""

    async def script(cluster: Cluster) -> None:
        backup, _ = await run_then_back_up(cluster)
        cluster.store.restore(backup)
        await all_held(cluster)
        await settle(cluster)
        before = await all_running(cluster)
        cluster.store.restore(backup)
        await all_held(cluster)
        await asyncio.sleep(60)
        assert before == cluster.checker.running
        assert 3 == await new_epoch(cluster)
        await until(cluster, lambda: cluster.checker.state.store_epoch == 3)
        await until(cluster, lambda: not cluster.checker.state.unsettled)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_a_node_that_stays_away_keeps_the_others_waiting_until_it_is_fenced_off() -> None:
    """Its containers may be a second generation of what would be started."""

    async def script(cluster: Cluster) -> None:
        backup, before = await run_then_back_up(cluster)
        cluster.store.restore(backup)
        await all_held(cluster)
        cluster.machines["n0"].process.kill()
        await new_epoch(cluster)
        await until(cluster, lambda: list(cluster.checker.state.unsettled) == ["n0"])
        assert set(cluster.checker.running) <= set(before)
        await until(cluster, lambda: not cluster.checker.state.unsettled)
        assert cluster.checker.state.nodes["n0"].fenced
        cluster.start_agent("n0")
        await all_running(cluster)
        cancel_all(cluster)

    sound(run_script(1, script))


def test_an_epoch_is_begun_once_however_often_the_operator_asks() -> None:
    """The first answer may be lost."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(),))
        await all_running(cluster)
        await settle(cluster)
        with pytest.raises(Conflict, match="that is 2"):
            await new_epoch(cluster)
        began = [one for one in cluster.checker.recorded if isinstance(one.event, StoreEpochBegan)]
        assert len(began) == 1

    sound(run_script(1, script))


def test_a_stale_read_is_no_restore() -> None:
    """A server before 3.4.42 may answer from the past once, after a pause of its process."""
    _Stale.answers = 0

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        before = await all_running(cluster)
        await asyncio.sleep(5)
        _Stale.answers = 12
        await asyncio.sleep(20)
        assert _Stale.answers == 0
        assert {} == alarms(cluster)
        assert before == cluster.checker.running
        assert not any(master.hold() for _, master in cluster.masters.values())

    sound(run_script(1, script, parts=Parts(etcd=_Stale)))
