"""Whole masters, on an etcd in memory: who leads, and what the leader makes of the log."""

import asyncio

from dorm.config import ClusterConfig, MasterConfig
from dorm.master.master import Master
from dorm.planner.inline import InlinePlanner
from dorm.ports import Delete
from events.catalog import KIND_OF
from events.codec import from_json
from events.recorded import Recorded
from reconcilers.documents import NodeDocument
from tests.builders import BY_TEST, a_node, an_app
from tests.master.world import World, in_world


def a_master(
    world: World, name: str = "m1", *, segment_events_max: int = 5_000, snapshot_every: int = 1_000
) -> Master:
    """A master of this world."""
    config = MasterConfig(
        name=name,
        cluster=ClusterConfig(cluster="test"),
        node_grace_s=3,
        segment_events_max=segment_events_max,
        snapshot_every=snapshot_every,
    )
    return Master(
        config,
        etcd=world.etcd,
        log=world.log(f"{name}.lead.{world.randomness.token(4)}"),
        planner=InlinePlanner(),
        clock=world.clock,
        randomness=world.randomness,
    )


async def facts(world: World) -> list[Recorded]:
    """Return the whole log."""
    recorded: list[Recorded] = []
    at_end = False
    while not at_end:
        page = await world.log("reader").read(after=recorded[-1].revision if recorded else 0)
        recorded.extend(page.recorded)
        at_end = page.at_end
    return recorded


def kinds(recorded: list[Recorded]) -> list[str]:
    """Return what happened, in order."""
    return [KIND_OF[type(one.event)] for one in recorded]


def test_a_submit_becomes_a_partition_a_generation_and_a_document() -> None:
    """The whole chain of decisions, from one fact."""

    async def test(world: World) -> None:
        running = asyncio.create_task(a_master(world).run())
        world.write(world.keys.node("n1"), b"here")
        user = world.log("user")
        await user.append((a_node("n1", cpus=2),), stamp=BY_TEST)
        await user.submit(an_app("a", max=8), key="k", stamp=BY_TEST)
        await world.clock.sleep(3)

        told = [kind for kind in kinds(await facts(world)) if not kind.startswith("leader")]
        expected = [
            "node.reported/2",
            "app.submitted/4",
            "layout.decided/2",
            "generation.started/1",
        ]
        assert expected == told
        item = world.store.get(world.keys.desired("n1"))
        assert item is not None
        assert 2 == len(from_json(item.value, NodeDocument).containers)
        running.cancel()

    in_world(test)


def test_two_masters_know_the_same_and_one_of_them_leads() -> None:
    """Any of them can answer a user."""

    async def test(world: World) -> None:
        masters = [a_master(world, name) for name in ("m1", "m2")]
        running = [asyncio.create_task(master.run()) for master in masters]
        await world.log("user").submit(an_app("a"), key="k", stamp=BY_TEST)
        await world.clock.sleep(3)

        assert masters[0].state() == masters[1].state()
        assert [False, True] == sorted(master.is_leader() for master in masters)
        assert all(master.healthy() for master in masters)
        for task in running:
            task.cancel()

    in_world(test)


def test_a_master_that_resigns_is_followed_at_once() -> None:
    """A clean stop must not cost a lease's time."""

    async def test(world: World) -> None:
        first, second = a_master(world, "m1"), a_master(world, "m2")
        leading = asyncio.create_task(first.run())
        await world.clock.sleep(2)
        waiting = asyncio.create_task(second.run())
        await world.clock.sleep(2)
        leading.cancel()
        await first.resign()
        await world.clock.sleep(1)

        assert second.is_leader()
        waiting.cancel()

    in_world(test)


def test_a_master_that_lost_its_office_campaigns_again() -> None:
    """Its epoch is over; it works again only under a new one."""

    async def test(world: World) -> None:
        master = a_master(world)
        running = asyncio.create_task(master.run())
        await world.clock.sleep(2)
        before = master.state().epoch
        world.store.txn((), (Delete(world.keys.leader),), ())
        await world.log("user").submit(an_app("a"), key="k", stamp=BY_TEST)
        await world.clock.sleep(10)

        assert master.is_leader()
        assert master.state().epoch > before
        running.cancel()

    in_world(test)


def test_the_leader_cuts_and_seals_the_log_and_a_new_master_starts_from_a_snapshot() -> None:
    """The log stays in pieces that can be read, and the start stays short."""

    async def test(world: World) -> None:
        master = a_master(world, segment_events_max=10, snapshot_every=10)
        running = asyncio.create_task(master.run())
        user = world.log("user")
        for index in range(30):
            await user.submit(an_app(f"a{index}"), key=f"k{index}", stamp=BY_TEST)
            await world.clock.sleep(1)
        await world.clock.sleep(15)

        recorded = await facts(world)
        assert "segment.sealed/1" in kinds(recorded)
        assert recorded[-1].segment > 0
        running.cancel()
        later = a_master(world, "m2")
        following = asyncio.create_task(later.run())
        await world.clock.sleep(10)
        assert 30 == len(later.state().apps)
        assert later.events_read() < len(recorded)
        following.cancel()

    in_world(test)


def test_a_node_that_stays_away_is_lost_and_one_that_comes_back_returns() -> None:
    """Both as facts, so that a replay knows them too."""

    async def test(world: World) -> None:
        running = asyncio.create_task(a_master(world).run())
        await world.log("agent").append((a_node("n1"),), stamp=BY_TEST)
        await world.clock.sleep(8)
        lost = kinds(await facts(world)).count("node.lost/1")
        world.write(world.keys.node("n1"), b"here")
        await world.clock.sleep(3)

        assert (1, 1) == (lost, kinds(await facts(world)).count("node.returned/1"))
        running.cancel()

    in_world(test)


def test_starts_too_large_for_one_transaction_are_written_in_several() -> None:
    """Twenty thousand containers started at once are more than etcd takes in a request."""

    async def test(world: World) -> None:
        user = world.log("user")
        for index in range(5):
            world.write(world.keys.node(f"n{index}"), b"here")
            await user.append((a_node(f"n{index}", cpus=1000, memory_gib=1000),), stamp=BY_TEST)
        for index in range(50):
            big = an_app(f"a{index}", min=400, max=400, cpus=0.1, memory_gib=0.1)
            await user.submit(big, key=f"k{index}", stamp=BY_TEST)
        running = asyncio.create_task(a_master(world).run())
        await world.clock.sleep(10)

        starts = [one for one in await facts(world) if "generation.started/1" in kinds([one])]
        assert 50 == len(starts)
        assert 1 < len({one.revision for one in starts})
        running.cancel()

    in_world(test)
