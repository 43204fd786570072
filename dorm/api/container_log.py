"""The lines of one container, whatever happens to its agent while somebody reads.

When a stream breaks, the container is read again from its beginning, and the lines that were
passed on before are left out.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

import attrs

from dorm.api.agent_logs import AgentLogs
from dorm.api.view import View
from dorm.ports import Clock
from events.errors import NotFound, Unavailable

LINE_BYTES_MAX: Final = 64 * 1024
POLL_S: Final = 0.5
LAST_TRIES: Final = 3  # to reach the agent of a container that has ended


@attrs.frozen(kw_only=True)
class Source:
    """One container, and the mark before each of its lines."""

    app_id: str
    generation: int
    rank: int
    node_id: str
    prefix: bytes
    follow: bool


class ContainerLog:
    """Reads the output of containers from their agents."""

    def __init__(self, view: View, *, agents: AgentLogs, clock: Clock) -> None:
        self._view, self._agents, self._clock = view, agents, clock

    async def lines(self, source: Source) -> AsyncGenerator[bytes, None]:
        """Yield the marked lines of one container; with follow, until it has been seen gone.

        Output that is out of reach is said in a line of its own.
        """
        passed_on = tries = 0
        while True:  # Ends when the container is gone and read, or out of reach.
            was_live = self._is_live(source)  # Asked first: what it wrote until then is read below.
            count, fault = 0, ""
            try:
                stream = self._once(source, follow=source.follow and was_live)
                async with aclosing(stream):
                    async for line in stream:
                        count += 1
                        if count > passed_on:
                            yield source.prefix + line
            except (NotFound, Unavailable) as error:
                fault = str(error)
            passed_on = max(passed_on, count)
            tries = 0 if was_live else tries + 1
            if not source.follow or (not was_live and (not fault or tries == LAST_TRIES)):
                if fault:
                    yield source.prefix + f"dorm: {fault}\n".encode()
                return
            await self._clock.sleep(POLL_S)

    async def _once(self, source: Source, *, follow: bool) -> AsyncGenerator[bytes, None]:
        node = self._view.state().nodes.get(source.node_id)
        if node is None or not node.report.api_url:
            raise Unavailable(f"node {source.node_id} is out of reach, and its output too")
        chunks = self._agents.stream(
            node.report.api_url,
            app_id=source.app_id,
            generation=source.generation,
            rank=source.rank,
            follow=follow,
        )
        async with aclosing(chunks):
            async for line in split(chunks):
                yield line

    def _is_live(self, source: Source) -> bool:
        app = self._view.state().app(source.app_id)
        generation = app.generation if app else None
        return (
            generation is not None
            and generation.number == source.generation
            and source.rank not in generation.exits
        )


async def split(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield whole lines. One without an end is cut before it fills the memory."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
        while len(rest) > LINE_BYTES_MAX:
            yield rest[:LINE_BYTES_MAX] + b"\n"
            rest = rest[LINE_BYTES_MAX:]
    if rest:
        yield rest + b"\n"
