"""A ring is repeated, since the engine's list lags behind its events."""

import asyncio
from collections.abc import AsyncGenerator

from dorm.engine.echo import ECHOES_S, echoed
from tests.simulation.loop import virtual_loop


async def rings(*at_s: float) -> AsyncGenerator[None, None]:
    """Ring at these times, then stay silent for a while and end."""
    loop = asyncio.get_running_loop()
    for moment in at_s:
        await asyncio.sleep(moment - loop.time())
        yield
    await asyncio.sleep(10)


async def heard(*at_s: float) -> list[float]:
    """Return when something was heard."""
    loop = asyncio.get_running_loop()
    return [round(loop.time(), 3) async for _ in echoed(rings(*at_s))]


def test_one_ring_is_heard_again_after_each_echo() -> None:
    """An agent that looked too early looks again."""
    with virtual_loop() as loop:
        times = loop.run_until_complete(heard(1.0))

    assert [1.0, *(round(1.0 + echo_s, 3) for echo_s in ECHOES_S)] == times


def test_a_new_ring_starts_the_echoes_anew() -> None:
    """A burst of events ends in one set of echoes, not in one for each."""
    with virtual_loop() as loop:
        times = loop.run_until_complete(heard(1.0, 1.05, 1.06))

    assert [1.0, 1.05, 1.06, *(round(1.06 + echo_s, 3) for echo_s in ECHOES_S)] == times
