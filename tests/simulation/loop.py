"""An asyncio event loop in virtual time: nothing waits, and equal seeds run equally.

Instead of sleeping, the loop moves its clock to the next timer. It has no sockets and no threads.
"""

import asyncio
import gc
import itertools
from asyncio import base_events
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from heapq import heappop, heappush
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


class _Handle:
    """A callback that waits for its turn. It can do what asyncio asks of a handle, and no more."""

    __slots__ = ("_args", "_callback", "_cancelled", "_context", "_when")

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: Context | None,
    ) -> None:
        self._when, self._callback, self._args = when, callback, args
        self._context = copy_context() if context is None else context
        self._cancelled = False

    def when(self) -> float:
        """See `asyncio.TimerHandle`."""
        return self._when

    def cancel(self) -> None:
        """See `asyncio.Handle`."""
        self._cancelled = True
        self._callback, self._args = _nothing, ()  # A future may hold this handle for long.

    def cancelled(self) -> bool:
        """See `asyncio.Handle`."""
        return self._cancelled


def _nothing() -> None:
    """Do nothing: what is left of a cancelled callback."""


class VirtualLoop(base_events.BaseEventLoop):
    """The loop. Two queues of its own: what is ready, and what waits for a moment.

    The base class does the same for real files and clocks, and needs three times as long for it.
    """

    _stopping: bool

    def __init__(self) -> None:
        """Begin at time 0."""
        super().__init__()
        self._now = 0.0
        self._turns_at_once = 0
        self._queue: deque[_Handle] = deque()
        self._timers: list[tuple[float, int, _Handle]] = []
        self._timer_serials = itertools.count()
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

    def call_soon(  # type: ignore[override] # a handle of our own
        self,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - passed through
        context: Context | None = None,
    ) -> _Handle:
        """Call back in the next turn."""
        handle = _Handle(self._now, callback, args, context)
        self._queue.append(handle)
        return handle

    def call_at(  # type: ignore[override] # a handle of our own
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - passed through
        context: Context | None = None,
    ) -> _Handle:
        """Call back at a moment. Of two at the same moment, the first one asked for comes first."""
        handle = _Handle(when, callback, args, context)
        heappush(self._timers, (when, next(self._timer_serials), handle))
        return handle

    def call_later(  # type: ignore[override] # a handle of our own
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,  # noqa: ANN401 - passed through
        context: Context | None = None,
    ) -> _Handle:
        """Call back after some time."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def _run_once(self) -> None:
        """Take turns until the loop is told to stop; time moves when nothing is ready."""
        queue, timers = self._queue, self._timers
        while not self._stopping:
            self._turns_at_once += 1
            if self._turns_at_once > TURNS_AT_ONCE_MAX:
                self._turns_at_once = 0
                raise Livelock
            if not queue:
                self._move_clock()
            while timers and timers[0][0] <= self._now:
                queue.append(heappop(timers)[2])
            for _ in range(len(queue)):
                handle = queue.popleft()
                if not handle._cancelled:
                    try:
                        handle._context.run(handle._callback, *handle._args)
                    except (SystemExit, KeyboardInterrupt):
                        raise
                    except BaseException as error:  # noqa: BLE001 - as `asyncio.Handle` does
                        self._report(handle, error)

    def _move_clock(self) -> None:
        """Move on to the next moment at which something happens."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not timers:
            raise Deadlock
        if timers[0][0] > self._now:
            self._now, self._turns_at_once = timers[0][0], 0

    def _report(self, handle: _Handle, error: BaseException) -> None:
        """Tell the loop's owner of an error that nobody else will see."""
        message = f"exception in callback {handle._callback!r}"
        self.call_exception_handler({"message": message, "exception": error})

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
