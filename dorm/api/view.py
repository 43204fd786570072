"""What the API may see of the master that it belongs to."""

from collections.abc import Mapping
from typing import Protocol

from dorm.space.levels import Space
from dorm.status import NodeStatus
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
