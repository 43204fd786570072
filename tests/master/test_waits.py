"""A wait after a failure is measured by the leader's own clock, from when it first saw it."""

import attrs

from dorm.master.waits import Waits
from events.catalog import Event
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_requeued,
    app_retrying,
    container_exited,
    generation_stopped,
    state_of,
    stop_requested,
)
from tests.master.world import World, in_world


def failed(generation: int = 1) -> list[Event]:
    """A generation of `a` that failed, and the wait for the next."""
    return [
        a_generation("a", generation=generation),
        container_exited("a", generation=generation, exit_code=1),
        stop_requested("a", generation=generation, cause="failure"),
        generation_stopped("a", generation=generation),
        app_retrying("a"),
    ]


BEFORE: list[Event] = [a_node("n1"), an_app("a"), a_layout({"a": {"n1": 1}})]


def test_a_wait_grows_from_the_first_look_on() -> None:
    """Whatever time of day another master's clock showed when it began."""

    async def test(world: World) -> None:
        waits, state = Waits(world.clock), state_of(*BEFORE, *failed())

        assert {"a": 0} == waits.waited_ms(state)
        await world.clock.sleep(3)
        assert {"a": 3_000} == waits.waited_ms(state)

    in_world(test)


def test_the_next_wait_of_the_same_app_begins_anew() -> None:
    """A leader that looks seldom must not add two waits up."""

    async def test(world: World) -> None:
        waits = Waits(world.clock)
        waits.waited_ms(state_of(*BEFORE, *failed()))
        await world.clock.sleep(3)
        again = state_of(*BEFORE, *failed(), app_requeued("a"), *failed(generation=2))

        assert {"a": 0} == waits.waited_ms(again)

    in_world(test)


def test_a_layout_waits_for_another_look_from_the_first_sight_of_the_last_one() -> None:
    """A new leader measures anew, whatever the clock of the one before showed."""

    async def test(world: World) -> None:
        waits, state = Waits(world.clock), state_of(*BEFORE)

        assert 0 == waits.since_look_ms(state)
        await world.clock.sleep(3)
        assert 3_000 == waits.since_look_ms(state)
        assert 0 == waits.since_look_ms(attrs.evolve(state, looked_at_ms=state.looked_at_ms + 1))

    in_world(test)
