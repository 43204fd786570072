"""Ctrl-C, SIGTERM and a closed terminal all end a foreground program in the same orderly way."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

EXIT_INTERRUPTED: Final = 130

_Handler = Callable[[int, FrameType | None], Any] | signal.Handlers


@contextlib.contextmanager
def as_keyboard_interrupt() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into KeyboardInterrupt, so that every `finally` runs."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled_by(interrupt, signal.SIGTERM, signal.SIGHUP):
        yield


@contextlib.contextmanager
def ignored() -> Iterator[None]:
    """Let nothing interrupt the block, which must end by itself."""
    with _handled_by(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


@contextlib.contextmanager
def _handled_by(handler: _Handler, *numbers: signal.Signals) -> Iterator[None]:
    before = [signal.signal(number, handler) for number in numbers]
    try:
        yield
    finally:
        for number, old in zip(numbers, before, strict=True):
            signal.signal(number, old)
