"""A member whose connection is in good health while its watch says nothing."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from dorm.etcd import connect
from dorm.etcd.watch import SILENCE_S
from events.errors import Unavailable


async def say_nothing(_: AsyncIterator[bytes], __: Any) -> None:  # noqa: ANN401 - a grpc context
    """Take a watch, and never answer it."""
    await asyncio.sleep(60)


@pytest.fixture
async def silent_member() -> AsyncIterator[str]:
    """The endpoint of a server that answers pings but no watch."""
    watch: Any = grpc.stream_stream_rpc_method_handler(say_nothing)
    service = grpc.method_handlers_generic_handler("etcdserverpb.Watch", {"Watch": watch})
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


async def test_a_silent_watch_ends_with_an_error(silent_member: str) -> None:
    """The transport sees no fault, so only asking for signs of life can find it."""
    client = connect((silent_member,))
    started = time.monotonic()

    with pytest.raises(Unavailable, match="was silent"):
        async with asyncio.timeout(15):
            await anext(client.watch("/a", start_revision=1))

    assert time.monotonic() - started >= SILENCE_S
    await client.close()
