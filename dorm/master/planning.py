"""Layouts for one term: when to ask the planner, and whether its answer still fits.

Planning takes up to seconds, and the rest of a term's work does not wait for it: nodes are lost,
applications end and containers start meanwhile. So a plan is made from one state and judged
against another. If the problem is the same, it fits. If it is not, it is made again; and when
the cluster is too busy for that ever to end, a plan that is sound on the newest state will do.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

import attrs
import structlog

from dorm.master.metrics import Metrics
from dorm.master.quiet import Quiet
from dorm.planner.checks import objection
from dorm.planner.port import Plan, Planner
from dorm.ports import Clock
from events.catalog import Event
from events.layouts import LayoutDecided
from events.state import ClusterState
from reconcilers import layout

_log = structlog.get_logger()

STALE_MAX: Final = 3  # plans in a row that were overtaken, before one that is sound will do


@attrs.frozen
class _Question:
    """What is asked of the planner.

    Attributes:
        problem: Its hash.
        looked_at_ms: Another look at the same problem, because time has passed, is another
            question.
        settled: The state's; empty when the problem is to be decided whatever it was before.
    """

    problem: str
    looked_at_ms: int
    settled: str


class Planning:
    """The layouts of one term."""

    def __init__(
        self, planner: Planner, *, clock: Clock, metrics: Metrics, wake: Callable[[], None]
    ) -> None:
        self._planner, self._metrics, self._wake = planner, metrics, wake
        self._quiet = Quiet(clock)
        self._seen: tuple[ClusterState, _Question] | None = None
        self._task: asyncio.Task[Plan] | None = None
        self._asked: tuple[ClusterState, _Question] | None = None
        self._answered: _Question | None = None
        self._again = False
        self._stale = 0

    def facts(self, state: ClusterState) -> tuple[Event, ...]:
        """Return what the newest plan says to append, if it fits; start another when one is due.

        Never waits: `wake` is called when there is more to know.
        """
        question = self._question(state)
        facts: tuple[Event, ...] = ()
        if self._task is not None and self._task.done():
            facts = self._judge(self._task.result(), state, question)
            self._task = None
        if not facts and self._task is None and self._is_due(state, question):
            self._start(state, question)
        return facts

    def appended(self, facts: Sequence[Event]) -> None:
        """Take note that facts are in the log."""
        decisions = [fact for fact in facts if isinstance(fact, LayoutDecided)]
        if decisions:
            self._metrics.decided(decisions[0], latency_s=self._quiet.settled())

    @property
    def due_in_s(self) -> float | None:
        """Return when to call `facts` again by the clock alone; None when there is no need."""
        return None if self._task is not None else self._quiet.due_in_s

    async def stop(self) -> None:
        """Give up the plan that is being made."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _question(self, state: ClusterState) -> _Question:
        if self._seen is None or self._seen[0] is not state:
            problem = layout.problem_hash(state)
            self._seen = state, _Question(problem, state.looked_at_ms, state.settled)
        return self._seen[1]

    def _is_due(self, state: ClusterState, question: _Question) -> bool:
        if self._again:
            return True
        if question.problem == question.settled or question == self._answered:
            self._quiet.settled()
            return False
        before = self._asked[0] if self._asked else None
        self._quiet.look(question, apps=len(state.apps), is_urgent=_is_urgent(before, state))
        return self._quiet.due_in_s == 0

    def _start(self, state: ClusterState, question: _Question) -> None:
        self._asked, self._again = (state, question), False
        self._task = asyncio.create_task(self._planner.plan(state), name="plan a layout")
        self._task.add_done_callback(lambda _: self._wake())

    def _judge(self, plan: Plan, state: ClusterState, question: _Question) -> tuple[Event, ...]:
        """Return what of a plan can be appended now."""
        self._metrics.planned(plan)
        self._again = plan.again
        quarantined = tuple(
            fact
            for fact in plan.quarantined
            if (app := state.apps.get(fact.app_id)) is not None and not app.quarantine
        )
        if quarantined:
            self._metrics.quarantined(len(quarantined))
            return quarantined
        assert self._asked
        is_same = question == self._asked[1]
        if not plan.decisions:
            self._answered = self._asked[1]
            return ()
        wrong = "" if state is self._asked[0] else objection(state, plan.decisions)
        if not wrong and (is_same or self._stale >= STALE_MAX):
            self._stale = 0
            return plan.decisions
        _log.info("plan.overtaken", revision=state.revision, unsound=wrong)
        self._metrics.overtaken()
        self._stale += 1
        return ()  # What is open is still due, so the next plan begins at once.


def _is_urgent(before: ClusterState | None, now: ClusterState) -> bool:
    """Return whether a node or an application has gone since `before`: room or help is needed."""
    if before is None:
        return False
    lost = any(
        node.lost and not ((old := before.nodes.get(node_id)) and old.lost)
        for node_id, node in now.nodes.items()
    )
    return lost or any(
        app.partition
        and not app.cancel_requested
        and ((new := now.apps.get(app_id)) is None or new.cancel_requested)
        for app_id, app in before.apps.items()
    )
