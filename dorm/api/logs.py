"""One stream of output from the containers of an application, across resizes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import attrs

from dorm.api.agent_logs import AgentLogs
from dorm.api.container_log import POLL_S, ContainerLog, Source
from dorm.api.view import View
from dorm.ports import Clock
from events.errors import Archived, NotFound
from events.generations import GenerationStarted, Member
from events.log import EventLog
from events.state import App

LINES_AHEAD_MAX: Final = 1000  # read ahead of a slow user, for each request


@attrs.frozen(kw_only=True)
class Choice:
    """Whose output, and until when.

    Attributes:
        rank: None for all of them, each line marked with its `[rank]`.
        generation: None for the newest and, with `follow`, each one behind it.
        follow: Whether to go on as long as there may be more.
    """

    rank: int | None = None
    generation: int | None = None
    follow: bool = False


class LogReader:
    """Finds the containers of an application, and passes their output on."""

    def __init__(self, view: View, *, log: EventLog, agents: AgentLogs, clock: Clock) -> None:
        self._view, self._log, self._clock = view, log, clock
        self._containers = ContainerLog(view, agents=agents, clock=clock)

    async def check(self, app_id: str, choice: Choice) -> None:
        """Refuse what `read` could not begin with.

        Raises:
            NotFound: There is no such application, generation or rank.
        """
        number = self._first(app_id, choice)
        if number:
            await self._sources(app_id, number, choice)

    async def read(self, app_id: str, choice: Choice) -> AsyncGenerator[bytes, None]:
        """Yield whole lines of the chosen containers.

        Raises:
            NotFound: As `check` says.
        """
        number = self._first(app_id, choice) or await self._next(app_id, after=0)
        while number:  # Ends with the application, or when the user goes away.
            for stream in await self._streams(app_id, number, choice):
                async with aclosing(stream):
                    async for line in stream:
                        yield line
            if not choice.follow or choice.generation is not None:
                return
            number = await self._next(app_id, after=number)
            if number:
                yield f"dorm: generation {number} follows\n".encode()

    def _first(self, app_id: str, choice: Choice) -> int:
        """Return the generation to begin with; 0 to wait for the first one."""
        app = self._app(app_id)
        if choice.generation is None:
            if not app.last_generation and not choice.follow:
                raise NotFound(
                    "has not started any container yet",
                    field="app",
                    value=app_id,
                    hint=f"dorm why {app_id} tells what it waits for",
                )
            return app.last_generation
        if not 1 <= choice.generation <= app.last_generation:
            raise NotFound(
                f"is not among the generations so far, 1 to {app.last_generation}",
                field="generation",
                value=str(choice.generation),
                hint="leave it out for the newest one",
            )
        return choice.generation

    async def _next(self, app_id: str, *, after: int) -> int:
        """Wait for a generation behind `after`; 0 when there will be none."""
        while True:  # Ends with the application, or when the user goes away.
            app = self._app(app_id)
            if app.last_generation > after:
                return app.last_generation
            if app.outcome:
                return 0
            await self._clock.sleep(POLL_S)

    async def _streams(
        self, app_id: str, number: int, choice: Choice
    ) -> list[AsyncGenerator[bytes, None]]:
        try:
            sources = await self._sources(app_id, number, choice)
        except NotFound:
            if not choice.follow:
                raise
            return []  # The rank is not in this generation, but may be in the next.
        if choice.follow:
            return [self._merged(sources)]
        # One rank after the other, so that the same question has one answer.
        return [self._containers.lines(source) for source in sources]

    async def _sources(self, app_id: str, number: int, choice: Choice) -> list[Source]:
        members = await self._members(app_id, number)
        sources = [
            Source(
                app_id=app_id,
                generation=number,
                rank=member.rank,
                node_id=member.node_id,
                prefix=f"[{member.rank}] ".encode() if choice.rank is None else b"",
                follow=choice.follow,
            )
            for member in members
            if choice.rank in (None, member.rank)
        ]
        if not sources:
            raise NotFound(
                f"is not among ranks 0 to {len(members) - 1} of generation {number}",
                field="rank",
                value=str(choice.rank),
                hint="leave it out for all ranks",
            )
        return sources

    async def _members(self, app_id: str, number: int) -> tuple[Member, ...]:
        """Return the members of a generation: from the state while it runs, else from the log."""
        app = self._app(app_id)
        if app.generation is not None and app.generation.number == number:
            return app.generation.members
        after = app.submitted_revision
        while True:  # Each turn reads on, so this ends.
            try:
                page = await self._log.read(after=after)
            except Archived as gone:  # It may still be of a generation that the log has.
                after = gone.revision
                continue
            for recorded in page.recorded:
                event = recorded.event
                if (
                    isinstance(event, GenerationStarted)
                    and event.app_id == app_id
                    and event.generation == number
                ):
                    return event.members
            if page.at_end:
                raise NotFound(
                    "is no longer in the live log", field="generation", value=str(number)
                )
            after = page.through

    async def _merged(self, sources: list[Source]) -> AsyncGenerator[bytes, None]:
        """Yield the lines of all sources as they come."""
        queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(LINES_AHEAD_MAX)

        async def pump(source: Source) -> None:
            try:
                async with aclosing(self._containers.lines(source)) as lines:
                    async for line in lines:
                        await queue.put(line)
                await queue.put(None)
            except Exception as error:  # noqa: BLE001 - the reader raises it; nobody else would
                await queue.put(error)

        # No TaskGroup: a generator may be closed by another task than the one that began it.
        tasks = [asyncio.create_task(pump(source)) for source in sources]
        try:
            open_count = len(sources)
            while open_count:
                line = await queue.get()
                if isinstance(line, Exception):
                    raise line
                if line is None:
                    open_count -= 1
                else:
                    yield line
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _app(self, app_id: str) -> App:
        app = self._view.state().app(app_id)
        if app is None:
            raise NotFound("is no application any more", field="app", value=app_id)
        return app
