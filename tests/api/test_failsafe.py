"""A master's word over real HTTP: what an agent asks when etcd does not answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from dorm.agent.masters import HttpMasters
from dorm.api.failsafe import answering
from dorm.serving import listen

NODE, TENURE = "n1", "t1"


@asynccontextmanager
async def a_master(name: str = "m1", *, tenure: str = TENURE) -> AsyncIterator[str]:
    """A master that promises not to end one tenure; yields its address."""

    def promise(node_id: str, asked: str) -> bool:
        return (node_id, asked) == (NODE, tenure)

    app = Starlette(routes=[Route("/v1/failsafe", answering(name, promise), methods=["POST"])])
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await serving


async def word_of(url: str, name: str = "m1", *, tenure: str = TENURE) -> bool:
    """What an agent hears from there."""
    masters = HttpMasters()
    try:
        return await masters.promise(name, url, node_id=NODE, tenure=tenure)
    finally:
        await masters.close()


async def test_a_master_gives_its_word() -> None:
    """The very case that it is for."""
    async with a_master() as url:
        assert await word_of(url)


async def test_a_tenure_that_is_over_gets_no_word() -> None:
    """The node has to freeze."""
    async with a_master(tenure="t2") as url:
        assert not await word_of(url)


async def test_the_word_of_another_master_at_that_address_does_not_count() -> None:
    """An address may have moved on to a master that the node does not ask."""
    async with a_master("m2") as url:
        assert not await word_of(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "", "no address", "http://127.0.0.1:1/x y"])
async def test_whoever_does_not_answer_gives_no_word(url: str) -> None:
    """A fault on the way is never a yes, and never ends the agent."""
    assert not await word_of(url)


async def test_a_silent_master_is_not_waited_for() -> None:
    """The right to run lasts for seconds; a connection that hangs must not use them up."""
    with listen("127.0.0.1", 0) as listener:  # The kernel connects; nobody reads.
        port = listener.getsockname()[1]
        async with asyncio.timeout(10):
            assert not await word_of(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"node_id": 1}', b"\xff" * 5_000])
async def test_nonsense_is_refused(body: bytes) -> None:
    """Whatever an agent of another version sends."""
    async with a_master() as url, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.post(f"{url}/v1/failsafe", content=body)).status_code == 400
