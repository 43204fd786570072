"""The warden of a node as its agent sees it: a process that outlives it, and fences the node.

What the warden does is `reconcilers.warden.plan`, each quarter of a second, on the groups that
containers are made in (`dorm.cgroups`): whoever stands in for it does the same.
"""

from typing import Protocol

from dorm.warden.journal import Deed
from reconcilers.warden import Permit


class Warden(Protocol):
    """Starts and watches the warden, tells it of the node's right, and asks what it did.

    An agent takes a permit only after `ensure`, and renews it only while `ensure` says yes: a node
    without a warden has nothing that ends its right.
    """

    async def ensure(self) -> bool:
        """Have a warden, and return whether one is at work: it looked within the last 2 s.

        Starts one where none is, and replaces one that hangs or is of another version; containers
        are not touched by that. Call it often, such as with each renewal: it costs a file's read.
        No means that there is none at this moment, so call again.

        Raises:
            Rejected: This machine can have none, such as without root or cgroups. No retry helps.
        """
        ...

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """Say until when the containers of this tenure may run; those of any other are killed.

        Takes effect within a quarter of a second. Containers that may outlast a disconnect run past
        the deadline. Does not wait for anything.

        Args:
            tenure: 1 to 64 characters of [a-z0-9].
            deadline_s: On `Clock.monotonic`; one that is over freezes at once.

        Raises:
            Unavailable: The permit before stands.
        """
        ...

    async def permitted(self) -> Permit | None:
        """Return the permit in force, such as an agent before this one left it.

        None when there is none, it is damaged, or the machine was booted since.
        """
        ...

    async def empty(self, tenure: str) -> bool:
        """Return whether nothing of any other tenure runs on this node, or ever can.

        Yes only when every group of the others is empty and frozen: then even a start that the
        engine has on its way executes nothing. Only the warden gets there, once a permit of this
        tenure is written.

        Raises:
            Unavailable: That cannot be seen.
        """
        ...

    async def deeds(self, after: int) -> tuple[Deed, ...]:
        """Return what wardens of this node did, oldest first: those numbered above `after`."""
        ...
