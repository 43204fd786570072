"""Directed scenarios about machines and users: each failure that the design names, once."""

import asyncio

from events.apps import AppCompleted, AppSubmitted
from events.generations import ContainerExited
from events.layouts import LayoutDecided
from events.nodes import NodeLost
from tests.simulation.cluster import Cluster
from tests.simulation.etcd import NetworkFaults
from tests.simulation.script import all_running, an_errand, sound, until
from tests.simulation.simulation import run_script


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
