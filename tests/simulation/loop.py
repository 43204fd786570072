"""An asyncio event loop in virtual time: nothing waits, and equal seeds run equally.

Instead of sleeping, the loop moves its clock to the next timer. It has no sockets and no threads.
"""

import asyncio
import gc
import itertools
from asyncio import base_events
from collections.abc import Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

TURNS_AT_ONCE_MAX: Final = 10_000  # of the loop without any time between them

T = TypeVar("T")
_Work = Coroutine[Any, Any, T] | Generator[Any, None, T]


class Deadlock(Exception):
    """Nothing is ready, and no timer will ever make it so."""


class Livelock(Exception):
    """Programs are busy, and time stands still."""


class _Task(asyncio.Task[T]):
    """A task whose hash is its serial number.

    asyncio keeps tasks in sets and walks over them (`TaskGroup`, `asyncio.wait`). The usual hash
    is an address, so that walk would differ from run to run.
    """

    def __init__(self, serial: int, coroutine: _Work[T], **kwargs: Any) -> None:  # noqa: ANN401 - passed through
        self._serial = serial
        super().__init__(coroutine, **kwargs)

    def __hash__(self) -> int:
        return self._serial

    def __eq__(self, other: object) -> bool:
        return self is other


class VirtualLoop(base_events.BaseEventLoop):
    """The loop. It is its own selector: selecting with a timeout is moving the clock."""

    def __init__(self) -> None:
        """Begin at time 0."""
        super().__init__()
        self._now = 0.0
        self._turns_at_once = 0
        self._selector = self
        self._clock_resolution = 1e-9
        serials = itertools.count(1)

        def factory(
            loop: asyncio.AbstractEventLoop,
            coroutine: _Work[T],
            **kwargs: Any,  # noqa: ANN401 - passed through
        ) -> _Task[T]:
            return _Task(next(serials), coroutine, loop=loop, **kwargs)

        self.set_task_factory(factory)

    def time(self) -> float:
        """Return virtual seconds since the beginning."""
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        """Move the clock by `timeout`; nothing ever happens from outside."""
        if timeout is None:
            raise Deadlock
        self._turns_at_once = 0 if timeout > 0 else self._turns_at_once + 1
        if self._turns_at_once > TURNS_AT_ONCE_MAX:
            self._turns_at_once = 0
            raise Livelock
        self._now += max(0.0, timeout)
        return ()

    def _process_events(self, _: object) -> None:
        """There are no files to serve."""

    def _write_to_self(self) -> None:
        """Nobody sleeps, so nobody has to be woken."""


@contextmanager
def virtual_loop() -> Iterator[VirtualLoop]:
    """Yield a loop, with the cycle collector off so that finalizers run at known points."""
    loop, collecting = VirtualLoop(), gc.isenabled()
    gc.disable()
    try:
        yield loop
    finally:
        loop.run_until_complete(_cancel_all())
        loop.close()
        if collecting:
            gc.enable()


async def _cancel_all() -> None:
    me = asyncio.current_task()
    left = sorted((task for task in asyncio.all_tasks() if task is not me), key=hash)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
