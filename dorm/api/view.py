"""What the API may see of the master that it belongs to."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from dorm.space.levels import Space
from dorm.status import NodeStatus
from dorm.store import Alarm, StoreMark
from events.catalog import Event
from events.recorded import Stamp
from events.state import ClusterState


class View(Protocol):
    """The present, as this master knows it: folded from the log, never ahead of it."""

    def state(self) -> ClusterState:
        """Return the newest folded state."""
        ...

    def statuses(self) -> Mapping[str, NodeStatus]:
        """Return what agents last said of the present, by node id."""
        ...

    def is_leader(self) -> bool:
        """Return whether this master is in office."""
        ...

    def space(self) -> Space:
        """Return how full etcd was a moment ago."""
        ...

    async def wait_for(self, revision: int) -> None:
        """Wait until the state has reached `revision`.

        Raises:
            Unavailable: It did not come in time.
        """
        ...

    def healthy(self) -> bool:
        """Return whether the view still hears from etcd, so that `state` is not stale."""
        ...

    def silence_s(self) -> float | None:
        """Return for how long the log has given no sign of life; None before the first."""
        ...

    def hold(self) -> str:
        """Return why this master holds, see `dorm.master.holding`; empty when it does not."""
        ...

    def alarms(self) -> tuple[Alarm, ...]:
        """Return what witnesses say against the store."""
        ...

    def store_epoch(self) -> int:
        """Return the epoch of the store; 0 before the first look."""
        ...

    def check(self, events: Sequence[Event]) -> None:
        """Let events pass that every living master can read.

        Raises:
            Unavailable: One of them cannot.
        """
        ...

    async def begin_epoch(self, *, after: int, stamp: Stamp) -> StoreMark:
        """Begin the epoch that follows `after`, see `dorm.log.epochs.begin_epoch`."""
        ...
