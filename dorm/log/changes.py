"""A watch that is given back however its reader leaves it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dorm.ports.etcd import Etcd, WatchEvent


@asynccontextmanager
async def changes(
    etcd: Etcd, prefix: str, *, start_revision: int
) -> AsyncIterator[AsyncIterator[tuple[WatchEvent, ...]]]:
    """Watch `prefix`. A watch that holds a connection is closed at the end."""
    watch = etcd.watch(prefix, start_revision=start_revision)
    try:
        yield watch
    finally:
        close = getattr(watch, "aclose", None)
        if close is not None:
            await close()
