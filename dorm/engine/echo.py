"""Rings that are repeated, because the engine's list lags behind its events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

ECHOES_S: Final = (0.1, 0.3, 1.0)
"""Docker tells that a container died, then frees its network, and only then shows it as exited in
its list (moby 20.10, daemon/monitor.go, handleContainerExit). A look at the ring itself comes too
early, and no other event follows."""


async def echoed(rings: AsyncIterator[object]) -> AsyncGenerator[None, None]:
    """Yield at each ring, and again after each of `ECHOES_S`; a new ring starts the echoes anew."""
    loop = asyncio.get_running_loop()
    due: list[float] = []
    following = asyncio.ensure_future(anext(rings))
    try:
        while True:  # Ends with the rings.
            wait_s = max(0.0, due[0] - loop.time()) if due else None
            await asyncio.wait((following,), timeout=wait_s)
            if following.done():
                try:
                    following.result()
                except StopAsyncIteration:
                    return
                due = [loop.time() + echo_s for echo_s in ECHOES_S]
                following = asyncio.ensure_future(anext(rings))
            else:
                del due[0]
            yield
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
