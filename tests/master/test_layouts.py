"""Layouts in a whole master: nothing waits for a plan, and time alone makes another look due."""

import asyncio
from collections.abc import Sequence

from dorm.config import ClusterConfig, MasterConfig
from dorm.master.master import Master
from dorm.planner.port import Planner
from dorm.ports import Delete
from events.catalog import Event
from events.layouts import LayoutDecided
from events.policy import LayoutDue
from tests.builders import BY_TEST, a_node, an_app
from tests.master.scripted import ScriptedPlanner
from tests.master.test_master import facts, kinds
from tests.master.world import World, in_world


def a_master(world: World, planner: Planner) -> Master:
    """A master that leaves its layouts to this planner."""
    return Master(
        MasterConfig(name="m1", cluster=ClusterConfig(cluster="test"), node_grace_s=3),
        etcd=world.etcd,
        log=world.log(f"m1.lead.{world.randomness.token(4)}"),
        planner=planner,
        clock=world.clock,
        randomness=world.randomness,
    )


async def submit(world: World, *events: Event) -> None:
    """Two nodes that are there, and whatever else a test wants."""
    world.write(world.keys.node("n1"), b"here")
    world.write(world.keys.node("n2"), b"here")
    log = world.log(f"user.{world.randomness.token(4)}")
    await log.append((a_node("n1"), a_node("n2"), *events), stamp=BY_TEST)


async def of_kind(world: World, kind: type[Event]) -> Sequence[Event]:
    """Return the events of one kind."""
    return [one.event for one in await facts(world) if isinstance(one.event, kind)]


def test_nothing_waits_for_a_plan() -> None:
    """A node that is lost while the optimizer thinks is lost at once, and planned for next."""

    async def test(world: World) -> None:
        planner = ScriptedPlanner(takes_s=60.0)
        running = asyncio.create_task(a_master(world, planner).run())
        await submit(world, an_app("a"))
        await world.clock.sleep(5)
        world.store.txn((), (Delete(world.keys.node("n2")),), ())
        await world.clock.sleep(10)

        assert 1 == len(planner.asked)
        assert 1 == kinds(await facts(world)).count("node.lost/1")
        await world.clock.sleep(130)
        (decision,) = await of_kind(world, LayoutDecided)
        assert isinstance(decision, LayoutDecided)
        assert {"n1"} == set(decision.changes["a"].partition)
        running.cancel()

    in_world(test)


def test_a_plan_is_appended_as_soon_as_it_is_there() -> None:
    """Not at the next tick of the clock."""

    async def test(world: World) -> None:
        master = a_master(world, ScriptedPlanner(takes_s=0.3))
        running = asyncio.create_task(master.run())
        await submit(world)
        await world.clock.sleep(5)
        await submit(world, an_app("a"))
        await world.clock.sleep(0.55)

        assert 1 == len(await of_kind(world, LayoutDecided))
        assert b'dorm_layout_decisions_total{policy="drf/' in master.metrics.scrape()
        running.cancel()

    in_world(test)


def test_a_master_that_loses_its_office_gives_up_its_plan() -> None:
    """The next leader makes its own, from the log."""

    async def test(world: World) -> None:
        planner = ScriptedPlanner(takes_s=3_600.0)
        running = asyncio.create_task(a_master(world, planner).run())
        await submit(world, an_app("a"))
        await world.clock.sleep(5)
        world.store.txn((), (Delete(world.keys.leader),), ())
        await world.clock.sleep(15)

        assert 1 == planner.cancelled
        assert 2 == len(planner.asked)
        running.cancel()

    in_world(test)


def test_while_somebody_waits_the_layout_is_looked_at_now_and_then() -> None:
    """Those who rest may be moved later, and nobody but the clock says when."""

    async def test(world: World) -> None:
        planner = ScriptedPlanner()
        running = asyncio.create_task(a_master(world, planner).run())
        await submit(world, an_app("a", min=1_000, max=1_000))
        await world.clock.sleep(620)

        assert [LayoutDue] == [type(due) for due in await of_kind(world, LayoutDue)]
        assert 2 == len(planner.asked)
        running.cancel()

    in_world(test)
