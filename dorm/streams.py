"""Streams of the ports, closed when they are left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def closing(stream: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """Yield the stream, and close it however the block ends.

    Left to the garbage collector, a watch or a follower would live on for a while.
    """
    try:
        yield stream
    finally:
        close = getattr(stream, "aclose", None)  # What yields only at once has none.
        if close is not None:
            await close()
