"""How long to wait before trying again."""

from typing import Final

from dorm.ports import Clock, Randomness

FIRST_S: Final = 0.2
LONGEST_S: Final = 5.0


class Backoff:
    """Waits that double from one failure to the next, with jitter so that agents do not march."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock, self._randomness = clock, randomness
        self._failures = 0

    def reset(self) -> None:
        """Begin with short waits again: it worked."""
        self._failures = 0

    async def wait(self) -> None:
        """Wait, longer after each failure in a row."""
        longest = min(LONGEST_S, FIRST_S * 2 ** min(self._failures, 10))
        self._failures += 1
        await self._clock.sleep(self._randomness.uniform(longest / 2, longest))
