"""Directed scenarios: the failures that the design names, one by one, at the worst moment."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import ClassVar

from dorm.ports.etcd import Compare, Operation, Put, TxnResult, WatchEvent
from events.apps import AppCompleted, AppSubmitted, Scale
from events.catalog import KIND_OF
from events.control import LeaderElected
from events.generations import ContainerExited
from events.layouts import LayoutDecided
from events.nodes import NodeLost
from tests.simulation.cluster import Cluster, Parts
from tests.simulation.docker import Container
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.process import Process
from tests.simulation.simulation import Result, run_script
from tests.simulation.training import Program
from tests.simulation.users import Errand

STEP_S = 0.002
LIMIT_S = 120.0


def an_errand(
    name: str = "a", *, steps: int = 240, least: int = 1, most: int = 6, after_s: float = 2.0
) -> Errand:
    """A quiet training that a user wants."""
    return Errand(
        name=name,
        after_s=after_s,
        program=Program(steps=steps),
        scale=Scale(min=least, max=most),
    )


async def until(cluster: Cluster, holds: Callable[[], bool]) -> None:
    """Wait until something holds, looking very often."""
    end = asyncio.get_running_loop().time() + LIMIT_S
    while not holds():
        assert asyncio.get_running_loop().time() < end, cluster.checker.story[-40:]
        await asyncio.sleep(STEP_S)


async def all_running(cluster: Cluster) -> tuple[Container, ...]:
    """Wait until every submitted application runs in full, and return its containers."""

    def running() -> bool:
        apps = cluster.checker.state.apps.values()
        return bool(apps) and all(app.phase == "running" for app in apps)

    await until(cluster, running)
    return cluster.checker.running


def sound(result: Result) -> None:
    """Fail with the story unless the run kept every invariant and converged."""
    assert result.violations == (), result.report()


def kill_leader(cluster: Cluster) -> str:
    """Kill the leading master and return its name."""
    name = cluster.leader
    assert name is not None
    cluster.masters[name][0].kill()
    return name


def leaders(cluster: Cluster) -> list[str]:
    """Return who was elected, in order, each term once."""
    terms = {
        one.event.epoch: one.event.master
        for one in cluster.checker.recorded
        if isinstance(one.event, LeaderElected)
    }
    return list(terms.values())


def test_a_leader_killed_in_the_middle_of_a_resize_is_replaced_and_the_resize_goes_on() -> None:
    """The log is all there is, so the next leader finds the resize where it stands."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand("a", most=12),))
        await all_running(cluster)
        cluster.start_user("bob", (an_errand("b", after_s=0.1),))
        await until(
            cluster, lambda: any(a.phase == "resizing" for a in cluster.checker.state.apps.values())
        )
        first = kill_leader(cluster)
        await until(cluster, lambda: cluster.leader not in {None, first})
        await all_running(cluster)
        assert len(set(leaders(cluster))) == 2

    sound(run_script(1, script))


class _PausedAtTheDecision(SimEtcdClient):
    """Its process is stopped between its decision about a layout and the write of it, once."""

    paused: ClassVar[list[Process]] = []

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        writes = b"".join(put.value for put in success if isinstance(put, Put))
        if not self.paused and KIND_OF[LayoutDecided].encode() in writes:
            self.paused.append(self._process)
            self._process.pause()
        return await super().txn(compares, success, failure)


def test_a_paused_leader_wakes_up_and_its_stale_write_changes_nothing() -> None:
    """A lease proves nothing to the paused; the compare in the write itself does."""
    _PausedAtTheDecision.paused.clear()

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(),))
        await until(cluster, lambda: bool(_PausedAtTheDecision.paused))
        old, (process,) = cluster.leader, _PausedAtTheDecision.paused
        await asyncio.sleep(20)
        assert cluster.leader not in {None, old}
        refused = cluster.store.refused[cluster.keys.leader]
        process.resume()
        await asyncio.sleep(5)
        assert cluster.store.refused[cluster.keys.leader] > refused
        assert leaders(cluster)[-1] != old

    sound(run_script(1, script, parts=Parts(etcd=_PausedAtTheDecision)))


def test_an_agent_killed_between_create_and_start_starts_the_container_once() -> None:
    """A created container is adopted by its labels, never made again."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(),))
        machine = cluster.machines["n0"]
        await until(
            cluster, lambda: any(c.state == "created" for c in machine.engine.containers.values())
        )
        machine.process.kill()
        await asyncio.sleep(5)
        cluster.start_agent("n0")

    sound(run_script(1, script))


def test_an_agent_killed_between_an_exit_and_its_report_reports_it_after_all() -> None:
    """An exit that nobody reports would keep its partition for ever."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=30),))
        machine = cluster.machines["n0"]
        await until(
            cluster, lambda: any(c.state == "exited" for c in machine.engine.containers.values())
        )
        machine.process.kill()
        await asyncio.sleep(5)
        cluster.start_agent("n0")
        await until(
            cluster,
            lambda: any(isinstance(e.event, AppCompleted) for e in cluster.checker.recorded),
        )
        exits = [
            (e.event.rank, e.event.exit_code)
            for e in cluster.checker.recorded
            if isinstance(e.event, ContainerExited)
        ]
        assert sorted(exits) == [(rank, 0) for rank in range(6)]

    sound(run_script(1, script))


def test_an_agent_that_is_killed_and_started_again_adopts_its_containers() -> None:
    """The upgrade of an agent must not cost a single step."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        before = await all_running(cluster)
        for node_id, machine in cluster.machines.items():
            machine.process.kill()
            await asyncio.sleep(1)
            cluster.start_agent(node_id)
        await asyncio.sleep(30)
        assert before == cluster.checker.running

    sound(run_script(1, script))


def test_an_outage_of_etcd_of_a_minute_kills_no_container() -> None:
    """Training does not depend on the control plane."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=900),))
        before = await all_running(cluster)
        cluster.store.set_quorum(quorum=False)
        await asyncio.sleep(60)
        cluster.store.set_quorum(quorum=True)
        await asyncio.sleep(30)
        assert before == cluster.checker.running
        assert not any(isinstance(e.event, NodeLost) for e in cluster.checker.recorded)

    sound(run_script(1, script))


def test_masters_that_are_all_dead_for_a_minute_cost_no_container() -> None:
    """The same, seen from the other side."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=900),))
        before = await all_running(cluster)
        for process, _ in cluster.masters.values():
            process.kill()
        await asyncio.sleep(60)
        assert before == cluster.checker.running
        cluster.restart_dead()
        await asyncio.sleep(30)
        assert before == cluster.checker.running

    sound(run_script(1, script))


def test_a_lease_that_etcd_revokes_by_mistake_restarts_nothing() -> None:
    """Etcd before 3.4.31 revokes leases that were kept alive: lost contact is not death."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        before = await all_running(cluster)
        for lease_id in cluster.store.lease_ids:
            cluster.store.revoke(lease_id)
        await asyncio.sleep(40)
        assert before == cluster.checker.running
        assert not any(isinstance(e.event, NodeLost) for e in cluster.checker.recorded)

    sound(run_script(1, script))


def test_a_submit_whose_reply_is_lost_makes_one_application() -> None:
    """The user tries again under the same idempotency key and gets the first application."""

    async def script(cluster: Cluster) -> None:
        await until(cluster, lambda: len(cluster.checker.state.nodes) == 3)
        cluster.network.become(NetworkFaults(lost_reply=1.0))
        cluster.start_user("ann", (an_errand(after_s=0.1),))
        await asyncio.sleep(20)
        cluster.network.become(NetworkFaults())
        await until(cluster, lambda: not any(user.alive for user in cluster.users))
        submits = [e for e in cluster.checker.recorded if isinstance(e.event, AppSubmitted)]
        assert len(submits) == 1

    sound(run_script(1, script))


def test_a_silent_docker_engine_delays_its_node_and_nothing_else() -> None:
    """A hung dockerd is no dead machine: what it runs goes on, and starts nowhere else."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        before = await all_running(cluster)
        cluster.machines["n1"].engine.available = False
        await asyncio.sleep(40)
        assert before == cluster.checker.running
        cluster.machines["n1"].engine.available = True

    sound(run_script(1, script))


def test_a_second_application_shrinks_the_first_and_the_first_grows_back() -> None:
    """The main job: the cluster stays full, and each application keeps its share."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand("a", steps=1_500, most=12),))
        assert len(await all_running(cluster)) == 12
        cluster.start_user("bob", (an_errand("b", steps=60, most=6, after_s=0.1),))
        await until(cluster, lambda: len(cluster.checker.state.apps) == 2)
        sizes = [c.app_id[0] for c in await all_running(cluster)]
        assert (6, 6) == (sizes.count("a"), sizes.count("b"))
        await until(cluster, lambda: len(cluster.checker.state.apps) == 1)
        await until(cluster, lambda: len(cluster.checker.running) == 12)
        decided = [e for e in cluster.checker.recorded if isinstance(e.event, LayoutDecided)]
        assert len(decided) == 3

    sound(run_script(1, script))


def test_masters_that_were_cut_off_for_longer_than_their_lease_campaign_again() -> None:
    """A master that thinks that it is in office, and may not act, would do neither for ever."""

    async def script(cluster: Cluster) -> None:
        await until(cluster, lambda: len(cluster.checker.state.nodes) == 3)
        for process, _ in cluster.masters.values():
            process.cut = True
        await asyncio.sleep(20)
        assert cluster.leader is None
        for process, _ in cluster.masters.values():
            process.cut = False
        await until(cluster, lambda: cluster.leader is not None)
        cluster.start_user("ann", (an_errand(),))

    sound(run_script(1, script))


class _SlowWatch(SimEtcdClient):
    """Its watches tell everything seven seconds late."""

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return self._late(prefix, start_revision)

    async def _late(
        self, prefix: str, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        async for batch in super().watch(prefix, start_revision=start_revision):
            if batch:
                await asyncio.sleep(7)
            yield batch


def test_a_leader_that_reads_late_decides_nothing_twice() -> None:
    """Until it has read its own last write, its state would want the same again."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        await until(cluster, lambda: bool(cluster.checker.running))
        decided = [e for e in cluster.checker.recorded if isinstance(e.event, LayoutDecided)]
        assert len(decided) == 1

    sound(run_script(1, script, parts=Parts(etcd=_SlowWatch)))
