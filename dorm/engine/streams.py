"""Endless answers of the engine as asynchronous iterators."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

from docker import APIClient
from docker.types import CancellableStream

from dorm.engine.calls import translated
from events.errors import DormError

T = TypeVar("T")

AHEAD_MAX: Final = 64  # pieces read ahead of a slow reader; then the engine waits


class Stream(Generic[T]):
    """A blocking answer, read by a thread of its own.

    The thread is a daemon, as it may hang in the engine when the process ends.
    """

    def __init__(
        self, client: APIClient, open_: Callable[[APIClient], "CancellableStream[T]"]
    ) -> None:
        """Take a client for this stream alone, and how to open the answer."""
        self._client, self._open = client, open_
        self._answer: CancellableStream[T] | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[T | DormError | None] = asyncio.Queue(AHEAD_MAX)
        self._left = threading.Event()
        self._closing = threading.Lock()

    async def items(self) -> AsyncGenerator[T, None]:
        """Yield the items.

        Raises:
            NotFound, Unavailable: As for any call.
        """
        threading.Thread(target=self._read, daemon=True, name="docker-stream").start()
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, DormError):
                    raise item
                yield item
        finally:
            self._left.set()
            self._cut()

    def _read(self) -> None:
        try:
            translated(self._pass_on)
            self._put(None)
        except DormError as error:
            self._put(error)
        finally:
            self._close()

    def _close(self) -> None:
        """Give every socket back, which cutting the connection does not."""
        with self._closing:
            if self._answer is not None:
                self._answer._response.close()  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
                self._answer = None
            self._client.close()

    def _pass_on(self) -> None:
        self._answer = answer = self._open(self._client)
        if self._left.is_set():  # The reader left while it was opened, and could not cut it.
            self._cut()
        for item in answer:
            if not self._put(item):
                return

    def _cut(self) -> None:
        with self._closing, suppress(OSError):
            if self._answer is not None:
                self._answer.close()

    def _put(self, item: T | DormError | None) -> bool:
        """Hand over one item, waiting for room; returns whether anyone still reads."""
        while not self._left.is_set():  # Ends when the reader takes it, or leaves.
            put = self._queue.put(item)
            try:
                future = asyncio.run_coroutine_threadsafe(put, self._loop)
            except RuntimeError:  # The loop is closed: the process ends.
                put.close()
                return False
            try:
                future.result(timeout=1.0)
            except TimeoutError:
                future.cancel()
            else:
                return True
        return False
