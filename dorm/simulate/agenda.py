"""What is going to happen, in order of time."""

import heapq
from enum import IntEnum

import attrs


class Kind(IntEnum):
    """What happens at a time; of one moment, in this order."""

    WORLD = 0
    REPAIR = 1
    FAIL = 2
    ARRIVE = 3
    ROUND = 4


@attrs.frozen
class Entry:
    """One thing that is going to happen.

    Attributes:
        order: Entries of one moment and kind happen as they were planned.
        key: Which node or job it is about.
        version: Of what it was planned for: what has changed since makes it void.
    """

    at_ms: int
    kind: Kind
    order: int
    key: str = ""
    version: int = 0


@attrs.define(eq=False)
class Agenda:
    """A heap of entries."""

    _heap: list[tuple[int, Kind, int, str, int]] = attrs.field(factory=list)
    _planned: int = 0

    def __bool__(self) -> bool:
        """Return whether anything is going to happen."""
        return bool(self._heap)

    def plan(self, at_ms: int, kind: Kind, key: str = "", version: int = 0) -> None:
        """Plan something."""
        self._planned += 1
        heapq.heappush(self._heap, (at_ms, kind, self._planned, key, version))

    def next(self) -> Entry:
        """Take the earliest entry off."""
        return Entry(*heapq.heappop(self._heap))
