"""One state, folded in order, and those who wait for it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dorm.master.follower import Follower
from events.errors import Corrupt, Unavailable
from events.recorded import Recorded
from tests.builders import a_node, an_app, history
from tests.master.world import World, in_world

FACTS = history(a_node("n1"), an_app("a"), an_app("b"))


async def slowly(after: int) -> AsyncIterator[tuple[Recorded, ...]]:
    """Give one fact each second."""
    for recorded in FACTS:
        if recorded.revision > after:
            await asyncio.sleep(1)
            yield (recorded,)
    await asyncio.sleep(1_000)
    yield ()


def test_a_waiter_is_served_when_the_revision_is_folded() -> None:
    """The API answers a submit only when its own view shows it."""

    async def test(world: World) -> None:
        follower = Follower(slowly, clock=world.clock)
        running = asyncio.create_task(follower.run())

        await follower.wait_for(2)

        assert ["a"] == list(follower.state.apps)
        running.cancel()

    in_world(test)


def test_a_wait_has_a_limit() -> None:
    """Nobody hangs on a log that does not move."""

    async def test(world: World) -> None:
        follower = Follower(slowly, clock=world.clock)

        with pytest.raises(Unavailable, match="revision 9"):
            await follower.wait_for(9)

    in_world(test)


def test_a_sleeper_is_woken_by_every_move_until_it_is_forgotten() -> None:
    """The leader's loop sleeps on this."""

    async def test(world: World) -> None:
        follower = Follower(slowly, clock=world.clock)
        moved = asyncio.Event()
        follower.wake(moved)
        running = asyncio.create_task(follower.run())
        await moved.wait()
        follower.forget(moved)
        moved.clear()
        await world.clock.sleep(5)

        assert 3 == follower.state.revision
        assert not moved.is_set()
        running.cancel()

    in_world(test)


def test_a_log_that_goes_back_stops_the_process() -> None:
    """A master must not act on a history that cannot be."""

    async def backwards(_: int) -> AsyncIterator[tuple[Recorded, ...]]:
        yield (FACTS[2],)
        yield (FACTS[0],)

    async def test(world: World) -> None:
        with pytest.raises(Corrupt):
            await Follower(backwards, clock=world.clock).run()

    in_world(test)
