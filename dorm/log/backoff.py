"""How long to wait before another try."""

from typing import Final

from dorm.ports.clock import Randomness

FIRST_S: Final = 0.05
MAX_S: Final = 2.0


class Backoff:
    """Waits that double, each drawn at random from the upper half of its span."""

    def __init__(
        self, randomness: Randomness, *, first_s: float = FIRST_S, max_s: float = MAX_S
    ) -> None:
        self._randomness, self._first_s, self._max_s = randomness, first_s, max_s
        self._span_s = first_s

    def next_s(self) -> float:
        """Return the next wait."""
        wait_s = self._randomness.uniform(self._span_s / 2, self._span_s)
        self._span_s = min(self._span_s * 2, self._max_s)
        return wait_s

    def reset(self) -> None:
        """Begin anew, after a success."""
        self._span_s = self._first_s
