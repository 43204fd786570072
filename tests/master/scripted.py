"""A planner whose time and answers a test decides, and the states that it is asked about."""

import asyncio
from collections.abc import Callable

from dorm.planner.port import Plan
from events.catalog import Event
from events.fold import fold
from events.recorded import Recorded
from events.state import ClusterState
from reconcilers import layout
from tests.builders import BY_TEST

Answer = Callable[[ClusterState], Plan]


def as_decided(state: ClusterState) -> Plan:
    """The answer of the real reconciler, by its simplest policy."""
    return Plan(decisions=layout.plan(state, "drf"))


class ScriptedPlanner:
    """Takes `takes_s` for each plan.

    Attributes:
        asked: The states, in order.
        cancelled: How many plans were given up in the middle.
    """

    def __init__(self, *, takes_s: float = 0.0, answer: Answer = as_decided) -> None:
        self.asked: list[ClusterState] = []
        self.cancelled = 0
        self.takes_s, self.answer = takes_s, answer

    async def plan(self, state: ClusterState) -> Plan:
        """See `Planner`."""
        self.asked.append(state)
        try:
            await asyncio.sleep(self.takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.answer(state)

    async def close(self) -> None:
        """See `Planner`: there is nothing to let go of."""


def then(state: ClusterState, *events: Event) -> ClusterState:
    """The state after more events, each at the next revision."""
    return fold(
        (
            Recorded(event_id=f"t-{revision}-0", revision=revision, stamp=BY_TEST, event=event)
            for revision, event in enumerate(events, start=state.revision + 1)
        ),
        state,
    )
