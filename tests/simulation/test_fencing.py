"""Directed scenarios about the right to run: cut off, frozen, fenced, attested, thawed."""

import asyncio
from collections.abc import Sequence
from typing import ClassVar

import attrs

from dorm.ports.etcd import Compare, Operation, Put, TxnResult
from dorm.tenure import TenureRecord
from events.codec import from_json, to_json
from events.errors import NoSpace
from events.nodes import NodeExpelled, NodeFenced, NodeLost
from tests.simulation import insiders
from tests.simulation.cluster import Cluster, Parts
from tests.simulation.etcd import SimEtcdClient
from tests.simulation.etcd_members import IDS
from tests.simulation.script import (
    a_busy_node,
    all_running,
    an_errand,
    on,
    replaced,
    sound,
    told,
    until,
)
from tests.simulation.simulation import run_script

REPLACED_S_MAX = 16.0
FROZEN_S_MAX = 5.0  # the fence, and what the warden needs


def test_a_node_that_is_cut_off_freezes_and_is_replaced_and_clears_up_when_it_is_back() -> None:
    """At no instant do two generations execute anything; the checker watches each one."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.cut_off()
        await asyncio.sleep(FROZEN_S_MAX)
        assert on(cluster, "n1")
        assert all(one.frozen for one in on(cluster, "n1"))
        await replaced(cluster)
        machine.process.join()
        await until(cluster, lambda: not [one for one in on(cluster, "n1") if one.generation == 1])
        await until(cluster, lambda: not cluster.checker.state.nodes["n1"].lost)

    sound(run_script(1, script))


def test_a_dead_machine_is_replaced_in_time() -> None:
    """Its agent, its warden and its containers are gone at once, and nobody can tell."""

    async def script(cluster: Cluster) -> None:
        await a_busy_node(cluster)
        cluster.reboot("n1")
        assert await replaced(cluster) < REPLACED_S_MAX
        assert told(cluster, NodeFenced) == 1
        app = next(iter(cluster.checker.state.apps.values()))
        assert app.failures == 0, "a lost node uses up no retry"
        cluster.restart_dead()

    sound(run_script(1, script))


def test_a_node_that_is_back_before_the_verdict_goes_on_where_it_stood() -> None:
    """Frozen is not killed: no step is lost, nothing restarts."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        before = cluster.checker.running
        machine.process.pause()
        await until(cluster, lambda: all(one.frozen for one in on(cluster, "n1")))
        machine.process.resume()
        await until(cluster, lambda: not any(one.frozen for one in on(cluster, "n1")))
        await asyncio.sleep(20)
        assert before == cluster.checker.running
        assert told(cluster, NodeExpelled) == 0

    sound(run_script(1, script))


def test_a_frozen_agent_cannot_keep_what_its_node_has_no_right_to() -> None:
    """The warden needs no agent. When that wakes up it finds its tenure ended, and begins anew."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.pause()
        await asyncio.sleep(FROZEN_S_MAX)
        assert all(one.frozen for one in on(cluster, "n1"))
        await replaced(cluster)
        machine.process.resume()
        await until(cluster, lambda: not cluster.checker.state.nodes["n1"].lost)

    sound(run_script(1, script))


def test_quorum_lost_for_a_minute_freezes_and_kills_nothing() -> None:
    """Most members say that nobody can decide, so nobody can take the right away either."""

    async def script(cluster: Cluster) -> None:
        await a_busy_node(cluster)
        before = cluster.checker.running
        cluster.store.set_quorum(quorum=False)
        for _ in range(60):
            await asyncio.sleep(1)
            assert not any(one.frozen for one in cluster.checker.running)
        cluster.store.set_quorum(quorum=True)
        await asyncio.sleep(30)
        assert before == cluster.checker.running
        assert told(cluster, NodeLost) == 0

    sound(run_script(1, script))


def test_a_container_that_may_run_on_does_until_the_node_is_back() -> None:
    """`on_disconnect: keep` trades at most one training for at most one that saves its work."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster, on_disconnect="keep")
        machine.process.cut_off()
        await replaced(cluster)
        assert [one.generation for one in on(cluster, "n1") if not one.frozen]
        machine.process.join()
        await until(cluster, lambda: not [one for one in on(cluster, "n1") if one.generation == 1])

    sound(run_script(1, script))


def test_a_node_that_only_masters_reach_trains_on() -> None:
    """All of them give their word; so none of them ends its tenure, and it freezes nothing."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        before = cluster.checker.running
        machine.process.cut_from = frozenset(IDS)
        for _ in range(60):
            await asyncio.sleep(1)
            assert not any(one.frozen for one in cluster.checker.running)
        assert told(cluster, NodeLost) == 1
        machine.process.join()
        await asyncio.sleep(20)
        assert before == cluster.checker.running
        assert told(cluster, NodeExpelled) == 0

    sound(run_script(1, script))


def test_without_etcd_and_with_one_silent_master_nodes_freeze_and_nothing_is_lost() -> None:
    """The silent one may be leading on the other side. What is frozen loses no step."""

    async def script(cluster: Cluster) -> None:
        await a_busy_node(cluster)
        before = cluster.checker.running
        for member in cluster.store.members.all:
            cluster.store.members.crash(member)
        cluster.masters["m2"][0].pause()
        await asyncio.sleep(FROZEN_S_MAX + 1)
        assert all(one.frozen for one in cluster.checker.running)
        cluster.masters["m2"][0].resume()
        for member in cluster.store.members.all:
            cluster.store.members.start(member)
        await until(cluster, lambda: not any(one.frozen for one in cluster.checker.running))
        await asyncio.sleep(20)
        assert before == cluster.checker.running

    sound(run_script(1, script))


def test_all_of_etcd_dead_for_ten_minutes_freezes_nothing_while_masters_live() -> None:
    """The time without etcd that the masters alone can bridge."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=9_000, most=12),))
        await all_running(cluster)
        before = cluster.checker.running
        for member in cluster.store.members.all:
            cluster.store.members.crash(member)
        for _ in range(580):
            await asyncio.sleep(1)
            assert not any(one.frozen for one in cluster.checker.running)
        for member in cluster.store.members.all:
            cluster.store.members.start(member)
        await asyncio.sleep(60)
        assert before == cluster.checker.running

    sound(run_script(1, script))


def test_a_master_that_nobody_knows_campaigns_only_when_every_node_knows_it() -> None:
    """Nodes count on the words of those they know: a stranger could lead over their heads."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.cut_from = frozenset(IDS)
        await until(cluster, lambda: told(cluster, NodeLost) == 1)
        cluster.start_master("stranger")
        for name in ("m0", "m1", "m2"):
            cluster.masters[name][0].pause()
        await asyncio.sleep(60)
        assert cluster.leader != "stranger"
        for name in ("m0", "m1", "m2"):
            cluster.masters[name][0].resume()
        machine.process.join()
        for name in ("m0", "m1", "m2"):
            await asyncio.sleep(15)  # By now every node has read of the newcomer.
            cluster.masters[name][0].pause()
        await until(cluster, lambda: cluster.leader == "stranger")
        for name in ("m0", "m1", "m2"):
            cluster.masters[name][0].resume()

    sound(run_script(1, script))


def test_a_new_disk_takes_the_nodes_name_only_after_the_old_one_is_fenced_off() -> None:
    """Its agent remembers nothing, so it cannot know what runs on the machine before it."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.kill()
        machine.disk.wipe()
        cluster.start_agent("n1")
        await until(cluster, lambda: told(cluster, NodeFenced) == 1)
        await until(cluster, lambda: not cluster.checker.state.nodes["n1"].lost)

    sound(run_script(1, script))


def test_a_dead_warden_is_replaced_and_nothing_is_extended_meanwhile() -> None:
    """Containers do not notice."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        before = cluster.checker.running
        machine.warden.kill()
        await until(cluster, lambda: machine.warden.alive)
        machine.warden.pause()
        await until(cluster, lambda: not machine.warden.paused)
        await asyncio.sleep(20)
        assert before == cluster.checker.running

    sound(run_script(1, script))


class _FullForOne(SimEtcdClient):
    """One process talks to a member that has no room, while the others have."""

    victims: ClassVar[set[object]] = set()

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        if self._process in self.victims and any(isinstance(one, Put) for one in success):
            raise NoSpace("etcdserver: mvcc: database space exceeded")
        return await super().txn(compares, success, failure)


def test_a_full_store_freezes_nobody() -> None:
    """No beat can be written for a minute; a delete of nothing shows that the right stands."""

    async def script(cluster: Cluster) -> None:
        await a_busy_node(cluster)
        before = cluster.checker.running
        cluster.store.full = True
        for _ in range(60):
            await asyncio.sleep(1)
            assert before == cluster.checker.running
            assert not any(one.frozen for one in cluster.checker.running)
        cluster.store.full = False

    sound(run_script(1, script))


def test_a_right_that_was_ended_is_not_extended_however_full_the_store_seems() -> None:
    """A member may call the store full by itself, while a majority has ended the tenure."""
    _FullForOne.victims.clear()

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        _FullForOne.victims.add(machine.process)
        await asyncio.sleep(30)
        assert on(cluster, "n1")
        assert not any(one.frozen for one in on(cluster, "n1"))
        key = cluster.keys.tenure("n1")
        item = cluster.store.get(key)
        assert item is not None
        ended = attrs.evolve(from_json(item.value, TenureRecord), ended=True)
        cluster.store.txn((), (Put(key, to_json(ended)),), ())
        await asyncio.sleep(FROZEN_S_MAX + 1)
        assert all(one.frozen for one in on(cluster, "n1"))
        _FullForOne.victims.clear()

    sound(run_script(1, script, parts=Parts(etcd=_FullForOne)))


def test_a_store_that_is_full_and_then_without_quorum_freezes_nobody() -> None:
    """A member without room refuses every write at once, also when it sees no leader."""
    _FullForOne.victims.clear()

    async def script(cluster: Cluster) -> None:
        await a_busy_node(cluster)
        before = cluster.checker.running
        _FullForOne.victims.update(machine.process for machine in cluster.machines.values())
        await asyncio.sleep(5)
        for member in cluster.store.members.all[:2]:
            cluster.store.members.crash(member)
        for _ in range(30):
            await asyncio.sleep(1)
            assert before == cluster.checker.running
            assert not any(one.frozen for one in cluster.checker.running)
        for member in cluster.store.members.all[:2]:
            cluster.store.members.start(member)
        _FullForOne.victims.clear()

    sound(run_script(1, script, parts=Parts(etcd=_FullForOne)))


def test_an_agent_that_cannot_register_still_has_its_warden_replaced() -> None:
    """Else containers whose right has lapsed would run on for as long as etcd is away."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.kill()
        machine.warden.kill()
        cluster.start_agent("n1")
        machine.process.cut_off()
        await until(cluster, lambda: machine.warden.alive)
        await asyncio.sleep(FROZEN_S_MAX)
        assert all(one.frozen for one in on(cluster, "n1"))
        await replaced(cluster)
        machine.process.join()

    sound(run_script(1, script))


def test_an_agent_whose_name_was_taken_meanwhile_does_not_go_on_where_it_froze() -> None:
    """Its tenure was over before its successor's could begin, though that is over by now too."""

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        machine.process.cut_off()
        await replaced(cluster)
        await until(cluster, lambda: told(cluster, NodeFenced) == 1)
        successor = TenureRecord(tenure="another", ended=True, closed=True)
        key = cluster.keys.tenure("n1")
        cluster.store.txn((), (Put(key, to_json(successor)),), ())
        machine.process.join()
        await until(cluster, lambda: not cluster.checker.state.nodes["n1"].lost)
        assert not [one for one in on(cluster, "n1") if one.generation == 1]

    sound(run_script(1, script))


def test_a_node_that_cannot_extend_its_right_by_its_own_fault_does_not_look_healthy() -> None:
    """Its containers are frozen; while its lease lives, nobody would ever take them elsewhere."""
    insiders.NoRoomForPermits.victims.clear()

    async def script(cluster: Cluster) -> None:
        machine = await a_busy_node(cluster)
        insiders.NoRoomForPermits.victims.add(machine.warden)
        await replaced(cluster)
        insiders.NoRoomForPermits.victims.clear()
        await until(cluster, lambda: not cluster.checker.state.nodes["n1"].lost)

    sound(run_script(1, script, parts=Parts(warden=insiders.NoRoomForPermits)))
