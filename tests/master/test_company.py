"""Masters of different versions: nothing is written that one of them would stop at."""

import asyncio
from collections.abc import Sequence

import attrs
import pytest

from dorm.master.company import Company, MasterCard
from events.catalog import KIND_OF, Event
from events.codec import to_json
from events.errors import Unavailable
from events.upcasts import readable_kinds
from tests.builders import BY_TEST, a_node, an_app
from tests.master.test_master import a_master, facts, kinds
from tests.master.world import World, in_world

OLD = MasterCard(
    name="m9",
    version="0.0.9",
    kinds=tuple(kind for kind in readable_kinds() if kind != "layout.decided/2"),
)


def a_company(world: World, name: str = "m1") -> Company:
    """What one master knows of the others."""
    card = MasterCard(name=name, version="1.0", kinds=readable_kinds())
    return Company(
        world.etcd, world.keys, card=card, clock=world.clock, randomness=world.randomness
    )


def passes(company: Company, events: Sequence[Event]) -> bool:
    """Return whether these events may be written."""
    try:
        company.check(events)
    except Unavailable:
        return False
    return True


def test_masters_know_each_other_and_who_is_gone_is_forgotten() -> None:
    """A master that was switched off must not hold the others up."""

    async def test(world: World) -> None:
        first, second = a_company(world, "m1"), a_company(world, "m2")
        running = [asyncio.create_task(one.run()) for one in (first, second)]
        await world.clock.sleep(5)
        assert ["m1", "m2"] == [card.name for card in first.cards]
        running[1].cancel()
        await world.clock.sleep(20)
        assert ["m1"] == [card.name for card in first.cards]
        running[0].cancel()

    in_world(test)


def test_what_one_master_cannot_read_is_held_back_with_the_reason() -> None:
    """It names the master and the kind, so that an operator knows what to upgrade."""

    async def test(world: World) -> None:
        company = a_company(world)
        company.cards = (attrs.evolve(OLD, kinds=("node.lost/1",)),)
        assert not passes(company, [an_app("a")])
        with pytest.raises(Unavailable, match=rf"{KIND_OF[type(an_app('a'))]} by m9 \(Dorm 0.0.9"):
            company.check([an_app("a")])

    in_world(test)


def test_a_leader_decides_nothing_that_an_older_master_would_stop_at() -> None:
    """It goes on as soon as that master is upgraded, or gone."""

    async def test(world: World) -> None:
        world.write(world.keys.master("m9"), to_json(OLD))
        running = asyncio.create_task(a_master(world).run())
        world.write(world.keys.node("n1"), b"here")
        user = world.log("user")
        await world.clock.sleep(5)
        await user.append((a_node("n1", cpus=2),), stamp=BY_TEST)
        await user.submit(an_app("a"), key="k", stamp=BY_TEST)
        await world.clock.sleep(20)
        held = kinds(await facts(world))
        new = attrs.evolve(OLD, kinds=readable_kinds())
        world.write(world.keys.master("m9"), to_json(new))
        await world.clock.sleep(10)

        assert "layout.decided/2" not in held
        assert "layout.decided/2" in kinds(await facts(world))
        running.cancel()

    in_world(test)
