"""The socket that daemons serve on."""

import asyncio
import socket

import pytest

from dorm.serving import listen
from events.errors import Rejected


async def test_answers_are_not_held_back() -> None:
    """The kernel would hold the body of each answer for 40 ms, until the headers are confirmed."""
    undelayed = asyncio.get_running_loop().create_future()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        undelayed.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener = listen("127.0.0.1", 0)
    async with await asyncio.start_server(serve, sock=listener):
        _, writer = await asyncio.open_connection(*listener.getsockname())
        assert await asyncio.wait_for(undelayed, 5)
        writer.close()
        await writer.wait_closed()


def test_an_address_that_is_taken_is_told() -> None:
    """The operator started the same daemon twice."""
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]

        with pytest.raises(Rejected, match="cannot be listened on: Address already in use"):
            listen("127.0.0.1", port)
