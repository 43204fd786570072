"""Output of containers, whatever happens to them and to their agents meanwhile."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx
import pytest

from dorm.api import container_log
from dorm.api.agent_logs import HttpAgentLogs
from dorm.api.logs import Choice
from events.errors import NotFound, Unavailable
from tests.api.world import World, a_ready_node
from tests.builders import (
    a_generation,
    an_app,
    app_completed,
    checkpoint_requested,
    container_exited,
    generation_stopped,
    node_lost,
)


def a_world(*, nodes: tuple[str, ...] = ("n1", "n2")) -> World:
    """Application `a` with one container on each node, each of which has said two lines."""
    world = World(*map(a_ready_node, nodes), an_app("a"), a_generation("a", *nodes))
    for rank in range(len(nodes)):
        world.agents.output["a", 1, rank] = [b"one\ntw", b"o\n"]
    return world


async def read(world: World, *, rank: int | None = None, generation: int | None = None) -> bytes:
    """Return what there is now."""
    choice = Choice(rank=rank, generation=generation)
    return b"".join([line async for line in world.logs.read("a", choice)])


async def follow(world: World, *, rank: int | None = None) -> AsyncGenerator[bytes, None]:
    """Follow the output."""
    lines = world.logs.read("a", Choice(rank=rank, follow=True))
    async with asyncio.timeout(5), aclosing(lines):
        async for line in lines:
            yield line


async def test_all_ranks_are_read_in_order_and_marked() -> None:
    """The same question must have the same answer, although containers speak all at once."""
    assert await read(a_world()) == b"[0] one\n[0] two\n[1] one\n[1] two\n"


async def test_one_rank_is_read_as_it_is() -> None:
    """Its output may be a program's input."""
    assert await read(a_world(), rank=1) == b"one\ntwo\n"


async def test_each_rank_is_asked_of_its_own_node() -> None:
    """An agent knows only the containers of its own node."""
    world = a_world()

    await read(world, rank=1)

    assert world.agents.asked == [("http://n2.test", "a", 1, 1, False)]


async def test_a_container_out_of_reach_does_not_hide_the_others() -> None:
    """One lost node must not cost the output of all."""
    world = a_world()
    world.agents.output["a", 1, 0] = [b"one\n", Unavailable("the agent does not answer")]

    assert await read(world) == (
        b"[0] one\n[0] dorm: the agent does not answer\n[1] one\n[1] two\n"
    )


async def test_output_of_an_application_that_has_ended_is_still_found() -> None:
    """That is when it is read most; the state no longer knows its containers, the log does."""
    world = a_world(nodes=("n1",))
    world.happen(container_exited("a"), app_completed("a"))

    assert await read(world) == b"[0] one\n[0] two\n"


async def test_an_older_generation_is_found_in_a_long_log() -> None:
    """The log comes in pages; the search reads on."""
    world = World(a_ready_node(), an_app("a"), page_size=2)
    world.happen(*(an_app(f"b{number}") for number in range(9)))
    world.happen(a_generation("a"), container_exited("a"), app_completed("a"))
    world.agents.output["a", 1, 0] = [b"old\n"]

    assert await read(world, generation=1) == b"[0] old\n"


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (Choice(rank=7), "rank"),
        (Choice(generation=2), "generation"),
        (Choice(generation=0), "generation"),
        (Choice(rank=7, follow=True), "rank"),
    ],
)
async def test_what_never_was_is_refused_before_the_stream_begins(
    choice: Choice, field: str
) -> None:
    """Afterwards only the stream itself could say so."""
    with pytest.raises(NotFound) as caught:
        await a_world().logs.check("a", choice)

    assert caught.value.field == field


async def test_an_application_without_containers_says_whom_to_ask() -> None:
    """An empty answer would look like a silent training."""
    with pytest.raises(NotFound, match="dorm why a"):
        await World(an_app("a")).logs.check("a", Choice())


async def test_following_goes_on_into_the_next_generation_and_ends_with_the_application() -> None:
    """A resize is nothing that a user who watches the loss should have to care about."""
    world = a_world(nodes=("n1",))
    world.agents.output["a", 2, 0] = [b"three\n"]
    lines = follow(world)

    first = [await anext(lines), await anext(lines)]
    world.happen(
        checkpoint_requested("a"),
        container_exited("a"),
        generation_stopped("a"),
        a_generation("a", "n1", generation=2),
    )
    second = [await anext(lines), await anext(lines)]
    world.happen(container_exited("a", generation=2), app_completed("a"))

    assert first == [b"[0] one\n", b"[0] two\n"]
    assert second == [b"dorm: generation 2 follows\n", b"[0] three\n"]
    assert [line async for line in lines] == []


async def test_following_may_begin_before_there_is_any_container() -> None:
    """`dorm submit` and `dorm logs -f` are typed one after the other."""
    world = World(a_ready_node(), an_app("a"))
    world.agents.output["a", 1, 0] = [b"one\n"]
    lines = follow(world)
    waiting = asyncio.ensure_future(anext(lines))
    await asyncio.sleep(0)

    world.happen(a_generation("a"))

    assert await waiting == b"[0] one\n"
    await lines.aclose()


async def test_a_broken_stream_is_taken_up_without_repeating_a_line() -> None:
    """Agents are upgraded while trainings run and people watch."""
    world = a_world(nodes=("n1",))
    world.agents.output["a", 1, 0] = [b"one\ntwo\n", Unavailable("gone")]
    lines = follow(world)

    first = [await anext(lines), await anext(lines)]
    world.agents.output["a", 1, 0] = [b"one\ntwo\nthree\n"]
    third = await anext(lines)
    world.happen(container_exited("a"), app_completed("a"))

    assert (first, third) == ([b"[0] one\n", b"[0] two\n"], b"[0] three\n")
    assert [line async for line in lines] == []


async def test_following_a_node_that_stays_away_ends_with_a_word() -> None:
    """It must not wait for ever for a container that is known to be gone."""
    world = a_world(nodes=("n1",))
    world.agents.output["a", 1, 0] = [Unavailable("the agent does not answer")]
    world.happen(node_lost(), container_exited("a"), app_completed("a"))

    lines = [line async for line in follow(world)]

    assert lines == [b"[0] dorm: the agent does not answer\n"]


async def test_following_a_rank_skips_generations_that_are_too_small_for_it() -> None:
    """After a shrink the rank may come back."""
    world = a_world()
    lines = follow(world, rank=1)
    first = [await anext(lines), await anext(lines)]
    world.happen(checkpoint_requested("a"))
    world.happen(container_exited("a"), container_exited("a", rank=1, node_id="n2"))
    world.happen(generation_stopped("a"), a_generation("a", "n1", generation=2))
    note = await anext(lines)
    world.happen(container_exited("a", generation=2), app_completed("a"))

    assert first == [b"one\n", b"two\n"]
    assert note == b"dorm: generation 2 follows\n"
    assert [line async for line in lines] == []


async def test_the_readers_end_ends_all_streams_to_agents() -> None:
    """A user who goes away must not leave connections behind."""
    world = a_world()
    lines = follow(world)
    await anext(lines)

    await lines.aclose()

    await asyncio.sleep(0)
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others


async def test_an_endless_line_is_cut() -> None:
    """A progress bar without a newline must not fill the master's memory."""
    whole = b"x" * container_log.LINE_BYTES_MAX

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield whole + whole + b"ij"

    lines = [line async for line in container_log.split(chunks())]

    assert lines == [whole + b"\n", whole + b"\n", b"ij\n"]


def _agent(handler: object) -> HttpAgentLogs:
    return HttpAgentLogs(httpx.AsyncClient(transport=httpx.MockTransport(handler)))  # type: ignore[arg-type]


async def _fetch(agents: HttpAgentLogs, *, follow: bool = False) -> bytes:
    stream = agents.stream("http://n1:7071", app_id="a", generation=2, rank=3, follow=follow)
    return b"".join([chunk async for chunk in stream])


async def test_an_agent_is_asked_by_application_generation_and_rank() -> None:
    """The path is what agents serve."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, stream=httpx.ByteStream(b"one\n"))

    assert await _fetch(_agent(answer), follow=True) == b"one\n"
    assert asked == ["http://n1:7071/v1/logs/a/2/3?follow=1"]


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFound), (500, Unavailable), (503, Unavailable)]
)
async def test_an_agents_refusal_is_told_apart(status: int, error: type[Exception]) -> None:
    """A container that is not there yet is waited for; an agent in trouble is asked again."""
    with pytest.raises(error):
        await _fetch(_agent(lambda _: httpx.Response(status)))


async def test_an_agent_that_is_not_there_is_unavailable() -> None:
    """Errors of the HTTP library never reach a user."""

    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused")

    with pytest.raises(Unavailable, match="connection refused"):
        await _fetch(_agent(refuse))
