"""How long to wait before another try."""

from typing import Final

from dorm.ports import Clock, Randomness

FIRST_S: Final = 0.05
MAX_S: Final = 2.0


class Backoff:
    """Waits that double, each drawn at random from the upper half of its span.

    The jitter keeps those that failed together from coming back together.
    """

    def __init__(
        self,
        clock: Clock,
        randomness: Randomness,
        *,
        first_s: float = FIRST_S,
        max_s: float = MAX_S,
    ) -> None:
        self._clock, self._randomness = clock, randomness
        self._first_s, self._max_s = first_s, max_s
        self._span_s = first_s

    def next_s(self) -> float:
        """Return the next wait, for a caller that tells about it first."""
        wait_s = self._randomness.uniform(self._span_s / 2, self._span_s)
        self._span_s = min(self._span_s * 2, self._max_s)
        return wait_s

    async def wait(self) -> None:
        """Wait, longer after each failure in a row."""
        await self._clock.sleep(self.next_s())

    def reset(self) -> None:
        """Begin anew, after a success."""
        self._span_s = self._first_s
