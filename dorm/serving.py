"""Run a daemon's work beside its HTTP server, until it is told to stop or one of them ends."""

import asyncio
import signal
import socket
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette

from events.errors import Rejected

STOP_S: Final = 5  # open log streams get this long before they are cut
BACKLOG: Final = 128


class _Server(uvicorn.Server):
    """uvicorn without signal handlers: the daemon has its own, and stops the server itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises:
        Rejected: The address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By the number of the protocol asyncio knows TCP, and turns off the delay of small packets.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Rejected(
            f"cannot be listened on: {error.strerror}",
            field="--listen",
            value=f"{host}:{port}",
            hint="give another address, or port 0 for a free one",
        ) from error
    return listener


async def run_beside(
    work: Coroutine[Any, Any, None], app: Starlette, listener: socket.socket
) -> None:
    """Run `work` and serve `app` until SIGTERM, SIGINT, or the end of either.

    Args:
        work: Runs for ever by itself; it is cancelled at the stop.
        app: Served meanwhile.
        listener: From `listen`.

    Raises:
        Exception: Whatever ended `work`.
    """
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=STOP_S
    )
    server = _Server(config)
    working = asyncio.create_task(work, name="work")
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="serve")
    waiting = asyncio.create_task(told.wait(), name="wait for a signal")
    try:
        await asyncio.wait((working, serving, waiting), return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.should_exit = True
        waiting.cancel()
        if not working.done():
            working.cancel()
        await asyncio.wait((working, serving), timeout=STOP_S + 1)
        listener.close()
    if working.done() and not working.cancelled():
        working.result()
