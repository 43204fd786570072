"""Time and chance."""

from typing import Protocol


class Clock(Protocol):
    """Two clocks and a way to wait. Never compare one clock with the other."""

    def now_ms(self) -> int:
        """Return UTC epoch milliseconds, for people. May jump."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only go forward, for waits and deadlines on this machine."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Randomness(Protocol):
    """Chance: names that must be new, and jitter."""

    def token(self, length: int) -> str:
        """Return `length` random characters of [a-z0-9]."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """Return a number between the two."""
        ...
