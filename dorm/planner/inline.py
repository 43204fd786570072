"""Planning on the spot: no process, no thread, no limit."""

import time

from dorm.planner.port import Plan
from events.state import ClusterState
from reconcilers import layout


class InlinePlanner:
    """For simulations in virtual time, where equal seeds must run equally, and for small tests.

    An error of the optimizer is the caller's: a simulation should fail on it.
    """

    async def plan(self, state: ClusterState) -> Plan:
        """See `Planner`."""
        begun_s = time.process_time()
        decisions = layout.plan(state)
        return Plan(decisions=decisions, cpu_ms=int((time.process_time() - begun_s) * 1000))

    async def close(self) -> None:
        """See `Planner`: there is nothing to let go of."""
