"""The simulated world itself: what the simulation rests on must be right, and must be nasty."""

import asyncio
from random import Random

import attrs
import pytest

from dorm import labels
from dorm.keys import Keys
from dorm.ports.docker import Launch
from dorm.ports.etcd import Compare, Put
from events.errors import Compacted, Unavailable
from events.units import Resources
from tests.simulation.checker import Checker
from tests.simulation.docker import Engine, SimDocker
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.files import Disk, SimFiles
from tests.simulation.loop import Deadlock, Livelock, virtual_loop
from tests.simulation.process import Process, SimClock
from tests.simulation.training import Program, Trainings

ROOM = Resources(cpu_milli=4_000, memory_bytes=8 << 30)


class Node:
    """One engine with a checker that watches it."""

    def __init__(self, node_id: str = "n0") -> None:
        now = asyncio.get_running_loop().time
        self.checker = Checker(Keys("sim"), EtcdStore(), {node_id: ROOM}, now)
        self.trainings = Trainings(Random(1), self.checker)
        self.engine = Engine(
            node_id,
            trainings=self.trainings,
            witness=self.checker,
            disk=Disk({}),
            random=Random(2),
        )

    def launch(self, name: str, *, size: int = 1, cpus: int = 1, steps: int = 30) -> None:
        """Create and start a container at once."""
        self.engine.create(a_launch(name, size=size, cpus=cpus, steps=steps))
        self.engine.start(name)


def a_launch(name: str, *, size: int = 1, cpus: int = 1, steps: int = 30) -> Launch:
    """A container of a training."""
    app_id, generation, rank = name.rsplit("-", 2)
    return Launch(
        name=name,
        image="trainer",
        command=("train", "--fresh"),
        env={
            **Program(steps=steps).as_env(),
            "DORM_WORLD_SIZE": str(size),
            "DORM_CHECKPOINT_DIR": "/data/a",
            "DORM_PROGRESS_FILE": "/run/dorm/progress.json",
        },
        labels=labels.of_container((app_id, int(generation[1:]), int(rank[1:])), 1),
        demand=Resources(cpu_milli=cpus * 1000),
        pids_max=10,
        devices=(),
        binds=(),
        network="dorm",
        stop_signal="SIGTERM",
    )


def test_waiting_takes_no_time_and_programs_that_hang_or_spin_are_found_out() -> None:
    """A simulated hour must be cheap, and a program that hangs must not hang the test."""
    with virtual_loop() as loop:
        loop.run_until_complete(asyncio.sleep(3_600))
        assert loop.time() == pytest.approx(3_600)

        async def hang() -> None:
            await asyncio.Event().wait()

        with pytest.raises(Deadlock):
            loop.run_until_complete(hang())

        async def spin() -> None:
            while True:  # noqa: ASYNC110 - this is the mistake
                await asyncio.sleep(0)

        with pytest.raises(Livelock):
            loop.run_until_complete(spin())

        def again() -> None:  # It waits, for no time at all.
            loop.call_later(0, again)

        again()
        with pytest.raises(Livelock):
            loop.run_until_complete(hang())


async def test_a_paused_process_stands_still_until_it_is_resumed() -> None:
    """A pause between a check and a write is how stale leaders are made."""
    process = Process("m0", 1)
    clock, loop = SimClock(process), asyncio.get_running_loop()
    process.pause()
    loop.call_later(10, process.resume)
    await clock.sleep(1)
    assert loop.time() >= 10


async def test_a_killed_process_reaches_nothing_any_more() -> None:
    """SIGKILL runs no clean-up: a lease that a `finally` gives back would hide a whole failure."""
    store, process = EtcdStore(), Process("m0", 1)
    etcd = SimEtcdClient(store, process, NetworkFaults())

    async def hold() -> None:
        lease = await etcd.grant(5)
        try:
            await asyncio.sleep(100)
        finally:
            await etcd.revoke(lease.lease_id)

    process.spawn(hold())
    await asyncio.sleep(1)
    process.kill()
    await asyncio.sleep(1)
    assert not process.alive
    assert len(store.lease_ids) == 1


async def test_a_lost_reply_was_applied_and_a_lost_request_may_still_arrive() -> None:
    """The two faces of an unknown outcome, each of which broke a protocol that looked right."""
    store, faults = EtcdStore(), NetworkFaults(lost_reply=1.0)
    etcd = SimEtcdClient(store, Process("m0", 1), faults)
    with pytest.raises(Unavailable):
        await etcd.txn([Compare("a", "create", 0)], [Put("a", b"")])
    assert store.get("a") is not None

    faults.become(NetworkFaults(lost_request=1.0, late_commit=1.0))
    writing = asyncio.create_task(etcd.txn([], [Put("b", b"")]))
    await asyncio.sleep(0.5)
    assert store.get("b") is None
    with pytest.raises(Unavailable):
        await writing
    await asyncio.sleep(30)
    assert store.get("b") is not None


async def test_a_lease_runs_out_unless_etcd_itself_is_away() -> None:
    """A new etcd leader gives every lease its full time again, so an outage kills no node."""
    store = EtcdStore()
    etcd = SimEtcdClient(store, Process("m0", 1), NetworkFaults())
    lease = await etcd.grant(5)
    await etcd.txn([], [Put("node", b"", lease.lease_id)])
    store.set_quorum(quorum=False)
    await asyncio.sleep(60)
    assert store.get("node") is not None
    store.set_quorum(quorum=True)
    await asyncio.sleep(4)
    assert store.get("node") is not None
    await asyncio.sleep(2)
    assert store.get("node") is None


async def test_a_watch_yields_history_then_news_and_says_when_it_was_compacted() -> None:
    """Watches are resumed from the last event, and relisted when that is gone."""
    store = EtcdStore()
    etcd = SimEtcdClient(store, Process("m0", 1), NetworkFaults())
    for value in (b"1", b"2"):
        await etcd.txn([], [Put("a", value)])
    watch = etcd.watch("a", start_revision=2)
    assert [event.item.value for event in await anext(watch)] == [b"1", b"2"]
    asyncio.get_running_loop().call_later(1, store.txn, [], [Put("a", b"3")], [])
    assert [event.item.value for event in await anext(watch)] == [b"3"]

    await etcd.compact(4)
    with pytest.raises(Compacted):
        await anext(etcd.watch("a", start_revision=3))


async def test_a_container_that_was_asked_for_comes_even_when_the_agent_is_dead() -> None:
    """The engine goes on with a request whose sender died: the next agent must live with it."""
    node, process = Node(), Process("n0", 1)
    process.spawn(SimDocker(node.engine, process).create(a_launch("a-1-g1-w0")))
    await asyncio.sleep(0.0001)
    process.kill()
    await asyncio.sleep(1)
    assert "a-1-g1-w0" in node.engine.containers


async def test_a_silent_engine_is_unavailable_and_does_late_what_it_was_told() -> None:
    """An engine may hang; a create that timed out may still happen."""
    node = Node()
    node.engine.available = False
    docker = SimDocker(node.engine, Process("n0", 1))
    with pytest.raises(Unavailable):
        await docker.create(a_launch("a-1-g1-w0"))
    assert not node.engine.containers
    node.engine.available = True
    await asyncio.sleep(2)
    assert "a-1-g1-w0" in node.engine.containers


async def test_a_training_needs_all_its_ranks_and_saves_when_it_is_asked_to_stop() -> None:
    """Steps are made only by a whole generation; after the signal every rank ends with 0."""
    node = Node()
    node.launch("a-1-g1-w0", size=2, steps=1_000)
    await asyncio.sleep(10)
    assert node.trainings.step("a-1", 1) == 0
    node.launch("a-1-g1-w1", size=2, steps=1_000)
    await asyncio.sleep(10)
    for name in node.engine.containers:
        node.engine.signal(name, "SIGTERM")
    await asyncio.sleep(5)
    assert node.trainings.saved["a-1"] >= 20
    assert {c.exit_code for c in node.engine.containers.values()} == {0}
    assert node.checker.violations == []


async def test_peers_of_a_dead_rank_make_no_more_steps() -> None:
    """Frameworks hang or fail without a peer; a simulation where they went on would prove less."""
    node = Node()
    for rank in range(3):
        node.launch(f"a-1-g1-w{rank}", size=3, steps=1_000)
    node.engine.signal("a-1-g1-w0", "SIGKILL")
    before = node.trainings.step("a-1", 1)
    await asyncio.sleep(20)
    assert node.trainings.step("a-1", 1) == before


@pytest.mark.parametrize(
    ("second", "cpus", "sentence"),
    [
        ("a-1-g2-w0", 1, "run at once"),
        ("b-1-g1-w0", 4, "is overfilled"),
    ],
)
async def test_the_checker_sees_containers_that_must_not_run_together(
    second: str, cpus: int, sentence: str
) -> None:
    """A checker that is blind would pass every protocol."""
    node = Node()
    node.launch("a-1-g1-w0")
    node.launch(second, cpus=cpus)
    assert sentence in node.checker.violations[0]


async def test_the_checker_sees_a_container_that_runs_a_second_time() -> None:
    """A container made again after its end would train beside its successor."""
    node = Node()
    node.launch("a-1-g1-w0")
    node.engine.signal("a-1-g1-w0", "SIGKILL")
    node.engine.remove("a-1-g1-w0")
    node.launch("a-1-g1-w0")
    assert "started twice" in node.checker.violations[0]


async def test_a_kill_in_the_middle_of_an_append_leaves_half_of_it() -> None:
    """A journal must be readable after that."""
    disk = Disk({})
    seen = set()
    for seed in range(20):
        process = Process("n0", seed)
        process.spawn(SimFiles(disk, process).append(f"/journal/{seed}", b"0123456789"))
        await asyncio.sleep(0.005)
        process.kill()
        seen.add(disk.tree("/journal").get(f"/journal/{seed}", b""))
    assert any(0 < len(data) < 10 for data in seen)


async def test_a_container_that_starts_after_a_reboot_is_in_a_group_that_can_be_frozen() -> None:
    """Seed 126: groups went with the reboot, and nothing froze what started then."""
    node = Node()
    node.engine.create(attrs.evolve(a_launch("a-g1-w0"), cgroup_parent="dorm/t1/stop"))
    node.engine.reboot()

    node.engine.start("a-g1-w0")

    assert [(one.tenure, one.populated) for one in node.engine.groups()] == [("t1", True)]
