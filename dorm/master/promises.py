"""The words that a master has given to nodes which etcd does not answer.

A node asks every master. So the word of one is enough to protect it from all: whoever leads, or
comes to lead, gave it too, and waits.
"""

from typing import Final

from dorm.ports import Clock
from dorm.tenure import TenureRecord

KEPT: Final = 10_000  # tenures; the oldest word of so many is long worth nothing


class Promises:
    """Kept in memory only: a master that starts anew waits longer than any word lasts."""

    def __init__(self, clock: Clock) -> None:
        """Start without any."""
        self._clock = clock
        self._given_at: dict[str, float] = {}

    def give(self, tenure: str) -> None:
        """Promise not to end this tenure, nor to conclude that it is over, for now."""
        self._given_at.pop(tenure, None)
        self._given_at[tenure] = self._clock.monotonic()
        if len(self._given_at) > KEPT:
            del self._given_at[next(iter(self._given_at))]

    def binds(self, record: TenureRecord) -> bool:
        """Return whether a word about this tenure is still good."""
        given_at = self._given_at.get(record.tenure)
        return given_at is not None and self._clock.monotonic() - given_at < record.wait_s
