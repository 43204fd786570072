"""Crashes at every fail point: whoever is started again there finds its way.

`tests/crashes` does the same to real processes, for the points that only those have.
"""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from events.apps import AppCancelled, Scale
from events.nodes import NodeFenced
from tests.simulation.cluster import Cluster
from tests.simulation.crash_points import SIMULATED
from tests.simulation.docker import MISSING_IMAGE
from tests.simulation.script import all_running, an_errand, sound, until
from tests.simulation.simulation import run_script
from tests.simulation.training import Program
from tests.simulation.users import Errand

MANY = 110  # more than one append, and more nodes than one write of documents, can hold
MANY_NODES = 45
RESTART_S = 1.5
LOOK_S = 0.5
DAY_S_MAX = 600.0

OF_BOTH = ("log.append.unwritten", "log.append.written")  # agents and masters have a log
OF_TENURES = ("master.tenure.ended", "master.tenure.closed")  # a node must be cut off for them
DIRECTED = ("leader.resign.deleted", "master.snapshot.loaded", *OF_TENURES)  # tests of their own
CASES = [
    (name, process)
    for name in SIMULATED
    if name not in DIRECTED
    for process in (("m", "n") if name in OF_BOTH else ("",))
]


@pytest.mark.parametrize(("name", "process"), CASES)
def test_a_process_that_dies_there_is_started_again_and_nothing_is_lost(
    name: str, process: str
) -> None:
    """Whatever was done before the crash is found, and whatever was not is done."""

    async def script(cluster: Cluster) -> None:
        cluster.crash_points.arm_often(name, process=process)
        await _day(cluster)
        assert set(cluster.crash_points.crashed) == {name}, sorted(cluster.crash_points.passes)

    sound(run_script(1, _supervised(script)))


@pytest.mark.parametrize("name", [*OF_TENURES, "agent.tenure.cleared", "agent.tenure.begun"])
def test_a_node_that_is_cut_off_is_fenced_off_and_comes_back_whoever_dies_meanwhile(
    name: str,
) -> None:
    """The end of a tenure takes several steps, on both sides, and each may be the last of one."""

    async def script(cluster: Cluster) -> None:
        cluster.crash_points.arm_often(name)
        cluster.start_user("ann", (an_errand(steps=600),))
        await all_running(cluster)
        process = cluster.machines["n0"].process
        process.cut_off()
        await until(
            cluster,
            lambda: any(isinstance(one.event, NodeFenced) for one in cluster.checker.recorded),
        )
        process.join()
        await until(cluster, lambda: not cluster.checker.state.nodes["n0"].lost)
        assert set(cluster.crash_points.crashed) == {name}

    sound(run_script(1, _supervised(script)))


def test_a_master_that_dies_as_soon_as_it_has_a_snapshot_starts_from_it_again() -> None:
    """Nothing is done yet; only the way there must be free again."""

    async def script(cluster: Cluster) -> None:
        await _day(cluster)
        cluster.crash_points.arm("master.snapshot.loaded")
        for process, _ in list(cluster.masters.values()):
            process.kill()
        await until(cluster, lambda: bool(cluster.crash_points.crashed))
        cluster.start_user("ann", (an_errand("late", steps=30, after_s=0.1),))
        await asyncio.sleep(20)

    sound(run_script(1, _supervised(script)))


def test_a_leader_that_dies_in_the_middle_of_its_resignation_has_resigned() -> None:
    """The key is gone, so the next one need not wait for the lease."""

    async def script(cluster: Cluster) -> None:
        await until(cluster, lambda: len(cluster.checker.state.nodes) == 3)
        await until(cluster, lambda: cluster.leader is not None)
        cluster.crash_points.arm("leader.resign.deleted")
        process, master = cluster.masters[cluster.leader or ""]
        resigning = asyncio.create_task(master.resign(), context=process.context)
        await until(cluster, lambda: bool(cluster.crash_points.crashed))
        await asyncio.gather(resigning, return_exceptions=True)
        await until(cluster, lambda: cluster.leader is not None)
        await _day(cluster)

    sound(run_script(1, _supervised(script)))


def test_a_leader_that_dies_between_two_appends_of_one_decision_leaves_the_rest_to_the_next() -> (
    None
):
    """More facts than one append takes: the first hundred stand, the others follow once."""

    async def script(cluster: Cluster) -> None:
        errands = tuple(
            Errand(
                name=f"a{index}",
                after_s=0.0,
                program=Program(steps=10),
                scale=Scale(min=1, max=1),
                cancel_after_s=0.0,
            )
            for index in range(MANY)
        )
        for index in range(10):
            cluster.start_user(f"user{index}", errands[index::10])
        await until(cluster, lambda: not any(user.alive for user in cluster.users))
        cluster.crash_points.arm("term.batch.appended")
        cluster.start()
        await until(cluster, lambda: bool(cluster.crash_points.crashed))
        cancelled = sum(isinstance(one.event, AppCancelled) for one in cluster.checker.recorded)
        assert 0 < cancelled < MANY

    sound(run_script(1, _supervised(script), started=False))


def test_a_leader_that_dies_between_two_writes_of_documents_leaves_the_rest_to_the_next() -> None:
    """Some nodes have new orders, others the old ones, and both are orders of the same log."""

    async def script(cluster: Cluster) -> None:
        for process, _ in cluster.masters.values():
            process.kill()
        await until(cluster, lambda: len(cluster.checker.state.nodes) == MANY_NODES)
        cluster.crash_points.arm("publisher.batch.written")
        cluster.restart_dead()
        await until(cluster, lambda: bool(cluster.crash_points.crashed))
        documents = cluster.store.range(cluster.keys.desireds, "", 0, keys_only=True).items
        assert 0 < len(documents) < MANY_NODES
        cluster.restart_dead()
        cluster.start_user("ann", (an_errand(steps=60, after_s=0.1),))
        await until(cluster, lambda: bool(cluster.checker.state.apps))
        await until(cluster, lambda: not cluster.checker.state.apps)

    sound(run_script(1, script, nodes=MANY_NODES))


async def _day(cluster: Cluster) -> None:
    """Let all that processes ever do be done: start, resize, kill, fail, cancel, end, tidy up."""
    cluster.start_user("ann", (an_errand("a", steps=200, most=12, after_s=1.0),))
    cluster.start_user(
        "bob",
        (
            Errand(
                name="deaf",
                after_s=4.0,
                program=Program(steps=4_000, deaf=True),
                scale=Scale(min=1, max=3),
                cancel_after_s=12.0,
            ),
            Errand(
                name="missing",
                after_s=1.0,
                program=Program(steps=10),
                scale=Scale(min=1, max=1),
                image=MISSING_IMAGE,
            ),
        ),
    )
    end = asyncio.get_running_loop().time() + DAY_S_MAX
    while any(user.alive for user in cluster.users) or cluster.checker.state.apps:
        if asyncio.get_running_loop().time() > end:
            cluster.checker.require(holds=False, sentence="I7 the day has no end")
            return
        await asyncio.sleep(LOOK_S)


def _supervised(
    script: Callable[[Cluster], Awaitable[None]],
) -> Callable[[Cluster], Awaitable[None]]:
    """Return the script with an init system beside it, which starts the dead again."""

    async def beside(cluster: Cluster) -> None:
        async def supervise() -> None:
            while True:
                await asyncio.sleep(RESTART_S)
                cluster.restart_dead()

        supervision = asyncio.create_task(supervise())
        try:
            await script(cluster)
        finally:
            supervision.cancel()
            cluster.restart_dead()

    return beside
