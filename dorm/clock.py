"""The real clocks, and real chance."""

import asyncio
import secrets
import time
from random import SystemRandom
from typing import Final

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


class SystemClock:
    """The machine's clocks. `monotonic` counts time spent suspended too (CLOCK_BOOTTIME)."""

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds since boot, suspends included where the system counts them."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class SystemRandomness:
    """The operating system's randomness."""

    def token(self, length: int) -> str:
        """Return `length` random characters of [a-z0-9]."""
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    def uniform(self, low: float, high: float) -> float:
        """Return a number between the two."""
        return SystemRandom().uniform(low, high)
