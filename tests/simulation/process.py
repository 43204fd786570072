"""A process of the simulated cluster: what can be killed, paused, and started again."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any, Final

import attrs

from tests.simulation.etcd_members import IDS

EPOCH_MS: Final = 1_700_000_000_000
_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


@attrs.frozen
class MachineClock:
    """How wrong a machine's clocks are. They stay so while processes come and go.

    Attributes:
        boot_s: What the monotonic clock shows at the beginning.
        rate: How fast the monotonic clock goes.
        skew_ms: How far UTC is off.
    """

    boot_s: float = 0.0
    rate: float = 1.0
    skew_ms: int = 0


class Process:
    """One run of a program, from its start to its end. A restart is another process.

    Every port call passes `gate` before and after. A paused process (SIGSTOP, a long collection)
    stands there, so it may be stopped between a check and the write that rests on it. A killed one
    gets no further: even its `finally` blocks reach nothing any more.

    Attributes:
        cut_from: The members of etcd that it cannot reach, while others can.
        alone: It reaches no other process of Dorm either.
    """

    def __init__(self, name: str, seed: int, clock: MachineClock = MachineClock()) -> None:
        """Describe the process; `spawn` starts it."""
        self.name = name
        self.cut_from: frozenset[int] = frozenset()
        self.alone = False
        self.random = Random(f"{seed}/{name}")
        self.clock = clock
        self._task: asyncio.Task[None] | None = None
        self._killed = False
        self._go = asyncio.Event()
        self._go.set()

    @property
    def alive(self) -> bool:
        """Return whether the program runs (or is paused)."""
        return self._task is not None and not self._task.done() and not self._killed

    @property
    def failure(self) -> BaseException | None:
        """Return the error that ended the program by itself, if one did."""
        task = self._task
        return None if task is None or not task.done() or task.cancelled() else task.exception()

    @property
    def paused(self) -> bool:
        """Return whether it is stopped, as by SIGSTOP."""
        return not self._go.is_set()

    def cut_off(self) -> None:
        """Let it reach nobody at all."""
        self.cut_from, self.alone = frozenset(IDS), True

    def join(self) -> None:
        """Let it reach everybody again."""
        self.cut_from, self.alone = frozenset(), False

    def spawn(self, program: Coroutine[Any, Any, None]) -> None:
        """Run the program."""
        self._task = asyncio.get_running_loop().create_task(program, name=self.name)

    def kill(self) -> None:
        """End the process as SIGKILL does."""
        self._killed = True
        self._go.set()
        if self._task is not None:
            self._task.cancel()

    def pause(self) -> None:
        """Stop the process as SIGSTOP does."""
        self._go.clear()

    def resume(self) -> None:
        """Let a paused process go on."""
        self._go.set()

    async def gate(self) -> None:
        """Wait while paused, go no further once killed."""
        if self._killed:
            raise asyncio.CancelledError
        if not self._go.is_set():
            await self._go.wait()
            if self._killed:
                raise asyncio.CancelledError


class SimClock:
    """A process's clocks: each machine's is wrong in its own way."""

    def __init__(self, process: Process) -> None:
        """Read the clock of `process`."""
        self._process = process

    def now_ms(self) -> int:
        """Return a wrong UTC time."""
        now_ms = int(asyncio.get_running_loop().time() * 1000)
        return EPOCH_MS + now_ms + self._process.clock.skew_ms

    def monotonic(self) -> float:
        """Return seconds that go forward a little too fast or too slowly."""
        clock = self._process.clock
        return asyncio.get_running_loop().time() * clock.rate + clock.boot_s

    async def sleep(self, seconds: float) -> None:
        """Wait by this clock."""
        await self._process.gate()
        await asyncio.sleep(seconds / self._process.clock.rate)
        await self._process.gate()


class SimRandomness:
    """A process's chance, the same in each run with the same seed."""

    def __init__(self, process: Process) -> None:
        """Draw for `process`."""
        self._random = process.random

    def token(self, length: int) -> str:
        """Return `length` characters of [a-z0-9]."""
        return "".join(self._random.choices(_ALPHABET, k=length))

    def uniform(self, low: float, high: float) -> float:
        """Return a number between the two."""
        return self._random.uniform(low, high)
