"""Follow the log: one folded state, always the state of some position, never ahead of the log."""

import asyncio
from collections.abc import AsyncIterator, Callable

import structlog

from dorm.ports import Clock
from events.errors import Unavailable
from events.fold import fold
from events.recorded import Recorded
from events.state import ClusterState

_log = structlog.get_logger()

Batches = Callable[[int], AsyncIterator[tuple[Recorded, ...]]]
"""From a revision on: yields the events behind it, whole transactions, in order, for ever."""


class Follower:
    """The state at the newest position that this process has read.

    Attributes:
        state: Replaced as a whole, never changed.
        events_read: How many events were folded since the start of this process.
        paused: Whether what comes is of another history than what was folded.
        last: The newest event that was folded; None before the first.
    """

    def __init__(
        self, batches: Batches, *, clock: Clock, start: ClusterState | None = None
    ) -> None:
        self.state = start or ClusterState()
        self.events_read = 0
        self.last: Recorded | None = None
        self.paused: Callable[[], bool] = lambda: False
        self._after = self.state.revision
        self._batches, self._clock = batches, clock
        self._moved = asyncio.Condition()
        self._wake_ups: set[asyncio.Event] = set()
        self._read_at: float | None = None

    def begin(self, state: ClusterState, *, after: int) -> None:
        """Go on from another state, which includes every event up to revision `after`.

        What was read is forgotten: the store may hold another history. Only while `run` does not
        run.
        """
        self.state, self._after = state, max(after, state.revision)
        self.last, self._read_at = None, None

    async def run(self) -> None:
        """Fold until paused. Called again, it reads on from where it stands.

        Raises:
            Archived: The log does not have the next event any more: begin anew.
            Corrupt: The log does not decode or fold. The process must stop.
            Missed: The state has a hole: begin anew.
            Regressed: The store stands before what was read. Call again once it does not.
        """
        async for batch in self._batches(max(self._after, self.state.revision)):
            if self.paused():
                return
            self._read_at = self._clock.monotonic()
            if not batch:
                continue
            self.state = fold(batch, self.state)
            self.events_read += len(batch)
            self.last = batch[-1]
            async with self._moved:
                self._moved.notify_all()
            for event in self._wake_ups:
                event.set()

    def wake(self, event: asyncio.Event) -> None:
        """Set `event` whenever the state moves."""
        self._wake_ups.add(event)

    def forget(self, event: asyncio.Event) -> None:
        """Stop setting `event`."""
        self._wake_ups.discard(event)

    def silence_s(self) -> float | None:
        """Return for how long the log has given no sign of life; None before the first."""
        return None if self._read_at is None else self._clock.monotonic() - self._read_at

    async def wait_for(self, revision: int, *, timeout_s: float = 5.0) -> None:
        """Wait until the state has reached `revision`.

        Raises:
            Unavailable: It did not come in time.
        """
        try:
            async with asyncio.timeout(timeout_s), self._moved:
                await self._moved.wait_for(lambda: self.state.revision >= revision)
        except TimeoutError as error:
            msg = f"the log has not reached revision {revision} within {timeout_s:g} s"
            raise Unavailable(msg) from error
