"""A master's API over an in-memory log: everything real but the network and the clock."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import count
from typing import Any

import httpx
from starlette.applications import Starlette

from dorm.api.logs import LogReader
from dorm.api.routes import build
from dorm.api.service import Service
from dorm.doctor import Finding
from dorm.space.levels import Space
from dorm.status import NodeStatus
from dorm.store import Alarm, StoreMark
from events.catalog import Event
from events.errors import Conflict, NotFound, Unavailable
from events.fold import fold
from events.log import MemoryLog
from events.recorded import Stamp
from events.state import ClusterState
from tests.builders import BY_TEST, a_node
from tests.spec.texts import a_text


class StandInView:
    """A view that is always up to date with its log, unless a test says otherwise."""

    def __init__(self, log: MemoryLog) -> None:
        """Follow `log`."""
        self._log = log
        self.told: dict[str, NodeStatus] = {}
        self.behind = False
        self.stale = False
        self.held = ""
        self.old_master = ""
        self.begun: list[int] = []
        self.room = Space()

    def state(self) -> ClusterState:
        """See `View`."""
        return fold(self._log.recorded)

    def statuses(self) -> Mapping[str, NodeStatus]:
        """See `View`."""
        return self.told

    def is_leader(self) -> bool:
        """See `View`."""
        return True

    def space(self) -> Space:
        """See `View`."""
        return self.room

    async def wait_for(self, revision: int) -> None:
        """See `View`."""
        if self.behind:
            raise Unavailable(f"the log has not reached revision {revision} within 5 s")

    def healthy(self) -> bool:
        """See `View`."""
        return not self.stale

    def silence_s(self) -> float | None:
        """See `View`."""
        return 42.0 if self.stale else 0.2

    def hold(self) -> str:
        """See `View`."""
        return self.held

    def alarms(self) -> tuple[Alarm, ...]:
        """See `View`."""
        return ()

    def store_epoch(self) -> int:
        """See `View`."""
        return 1 + len(self.begun)

    def check(self, events: Sequence[Event]) -> None:
        """See `View`."""
        if self.old_master:
            raise Unavailable(f"held back: {len(events)} cannot be read by {self.old_master}")

    async def begin_epoch(self, *, after: int, stamp: Stamp) -> StoreMark:
        """See `View`."""
        if self.behind:
            raise Unavailable("etcd has not answered within 5 s")
        if after != self.store_epoch():
            raise Conflict("is not the epoch of the store", field="after", value=str(after))
        self.begun.append(after)
        return StoreMark(epoch=after + 1, store_id="x", since_revision=0, at_ms=0, by=stamp.actor)


class StandInClock:
    """A clock that stands still; waiting takes no time, but lets others run."""

    def now_ms(self) -> int:
        """See `Clock`."""
        return BY_TEST.at_ms

    def monotonic(self) -> float:
        """See `Clock`."""
        return 0.0

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        del seconds
        await asyncio.sleep(0)


class Counting:
    """Chance that counts: `t0001`, `t0002` and so on."""

    def __init__(self) -> None:
        """Begin at 1."""
        self._next = count(1)

    def token(self, length: int) -> str:
        """See `Randomness`."""
        return f"t{next(self._next):0{length - 1}}"

    def uniform(self, low: float, high: float) -> float:
        """See `Randomness`."""
        return (low + high) / 2


class StandInAgents:
    """Agents whose containers' output is a dict; an exception in it is raised where it stands."""

    def __init__(self) -> None:
        """Begin without any output."""
        self.output: dict[tuple[str, int, int], list[bytes | Exception]] = {}
        self.asked: list[tuple[str, str, int, int, bool]] = []

    async def stream(
        self, api_url: str, *, app_id: str, generation: int, rank: int, follow: bool
    ) -> AsyncGenerator[bytes, None]:
        """See `AgentLogs`."""
        self.asked.append((api_url, app_id, generation, rank, follow))
        if (app_id, generation, rank) not in self.output:
            raise NotFound("has no output yet", field="container", value=f"rank {rank}")
        for chunk in list(self.output[app_id, generation, rank]):
            await asyncio.sleep(0)
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk


class World:
    """One master's API and what is behind it."""

    def __init__(self, *events: Event, page_size: int = 1000) -> None:
        """Begin with the history that `events` are."""
        self.log = MemoryLog(page_size=page_size)
        self.found: list[Finding] = []
        self.view, self.agents = StandInView(self.log), StandInAgents()
        clock = StandInClock()
        self.service = Service(
            name="m1",
            log=self.log,
            clock=clock,
            randomness=Counting(),
            view=self.view,
            findings=self._findings,
        )
        self.logs = LogReader(self.view, log=self.log, agents=self.agents, clock=clock)
        self.happen(*events)

    async def _findings(self) -> Sequence[Finding]:
        return tuple(self.found)

    def happen(self, *events: Event) -> None:
        """Record more events."""
        for event in events:
            self.log.record(event, stamp=BY_TEST)

    @property
    def events(self) -> list[Event]:
        """Return every event that was recorded."""
        return [recorded.event for recorded in self.log.recorded]

    def transport(self) -> httpx.BaseTransport:
        """Return a way for synchronous HTTP clients to reach the API."""
        return AsgiTransport(build(self.service, self.logs))


class AsgiTransport(httpx.BaseTransport):
    """Runs each request of a synchronous client to its end on an event loop of its own."""

    def __init__(self, app: Starlette) -> None:
        """Serve `app`."""
        self._inner = httpx.ASGITransport(app)
        self._runner = asyncio.Runner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """See `httpx.BaseTransport`."""
        return self._runner.run(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)

    def close(self) -> None:
        """See `httpx.BaseTransport`."""
        self._runner.close()


def a_ready_node(node_id: str = "n1", **more: Any) -> Event:  # noqa: ANN401 - as in `a_node`
    """A node whose agent can be asked for logs."""
    return a_node(node_id, api_url=f"http://{node_id}.test", **more)


def error_of(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Return the error of an answer that must have this status."""
    assert answer.status_code == status, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert {"field", "value", "rule", "hint", "message"} <= error.keys()
    return error


def submit(http: httpx.Client, text: str = a_text(), key: str = "k1") -> httpx.Response:
    """Submit a YAML spec."""
    return http.post("/v1/apps", content=text, headers={"Idempotency-Key": key})
