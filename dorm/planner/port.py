"""The port: a state in, a plan out."""

from typing import Protocol

import attrs

from events.apps import AppQuarantined
from events.layouts import LayoutDecided
from events.state import ClusterState


@attrs.frozen(kw_only=True)
class Plan:
    """What to append, and what it took to find out.

    Attributes:
        decisions: The parts of one decision; nothing when the partitions in force are right.
        quarantined: Applications that make planning fail; the layout goes on without them.
        cpu_ms: CPU time that all attempts took together.
        rss_bytes: Resident memory of the process that planned, afterwards; 0 when it is our own.
        fallback: Why the decision is not by the cluster's own policy; empty when it is.
        again: The same state deserves another call at once: the planner has more to find out.
    """

    decisions: tuple[LayoutDecided, ...] = ()
    quarantined: tuple[AppQuarantined, ...] = ()
    cpu_ms: int = 0
    rss_bytes: int = 0
    fallback: str = ""
    again: bool = False


class Planner(Protocol):
    """Works out layouts, one at a time."""

    async def plan(self, state: ClusterState) -> Plan:
        """Return what to append to the log of `state`.

        A call may be cancelled; the next one starts from nothing.
        """
        ...

    async def close(self) -> None:
        """Let go of whatever planning needs. A later call gets it back."""
        ...
