"""The warden of a node as its agent sees it: who stops containers when nobody else can."""

from typing import Protocol


class Warden(Protocol):
    """A process apart that freezes, thaws and kills the node's containers by the permit."""

    async def ensure(self) -> bool:
        """Return whether the warden is at work, after starting or replacing it if it was not.

        An agent extends no right while there is nobody to enforce it.
        """
        ...

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """Let the containers of `tenure` run until then, by this machine's monotonic clock.

        Those of any other tenure are ended.

        Raises:
            Unavailable: The permit could not be written; the one before stands.
        """
        ...

    async def empty(self, tenure: str) -> bool:
        """Return whether nothing of any other tenure than this one is left."""
        ...
