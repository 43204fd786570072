"""The command line against a real HTTP server over an in-memory cluster."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn
from click.testing import CliRunner, Result

from dorm.api.routes import build
from dorm.cli.main import cli
from tests.api.world import World

Dorm = Callable[..., Result]


@pytest.fixture
def world() -> World:
    """An empty cluster."""
    return World()


@pytest.fixture
def master(world: World) -> Iterator[str]:
    """The address of a master that serves it."""
    config = uvicorn.Config(build(world.service, world.logs), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # Before the server's thread gets that far: a first request waits.
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture
def dorm(master: str) -> Dorm:
    """Runs `dorm` with some arguments against that master."""

    def run(*args: str, text: str | None = None) -> Result:
        environment = {"DORM_MASTERS": master, "DORM_USER": "ann", "NO_COLOR": "1"}
        return CliRunner().invoke(cli, args, input=text, env=environment)

    return run
