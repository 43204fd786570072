"""The world at fidelity `facts`: every event of a real cluster, folded and planned by real code.

The reconcilers of the masters run on the folded state until they are satisfied. Agents, engines and
containers are delays: half of a restart's time passes from a request to stop until the containers
are gone, the other half from their start until they work. They report checkpoints as containers do,
so masters measure restarts and learn speeds.
"""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

import attrs

from dorm.simulate.agenda import Agenda, Entry, Kind
from dorm.simulate.app_run import AppRun
from dorm.simulate.clusters import Cluster
from dorm.simulate.engine import Round
from dorm.simulate.facts import STEPS_PER_S, report_of, rules_of, submit_of
from dorm.simulate.job import SECOND_MS
from dorm.simulate.results import DecisionResult
from dorm.simulate.settings import RunSettings
from events.apps import AppRetrying
from events.catalog import Event
from events.errors import DormError
from events.fold import fold
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    StopRequested,
)
from events.layouts import LayoutDecided, join
from events.nodes import NodeForgotten, NodeLost
from events.recorded import Recorded, Stamp
from events.state import ClusterState
from events.units import Resources, total_of
from reconcilers import layout, lifecycle, review, rollout
from reconcilers.layout.pose import undisturbed_ms

PASSES_MAX: Final = 1_000  # far more than any chain of facts needs
STARTED, GONE, DONE, RETRY = "started", "gone", "done", "retry"


@attrs.frozen(kw_only=True)
class Decided:
    """A decision of the masters, in parts, and what it took."""

    parts: Sequence[LayoutDecided]
    touched: int
    cpu_ms: float


@attrs.define(eq=False)
class FactsWorld:
    """See `engine.World`.

    Attributes:
        state: What the masters know.
    """

    cluster: Cluster
    settings: RunSettings
    agenda: Agenda
    state: ClusterState = attrs.field(factory=ClusterState)
    active: dict[str, AppRun] = attrs.field(factory=dict)
    running: int = 0
    containers: int = 0
    used: Resources = attrs.field(factory=Resources)
    total: Resources = attrs.field(factory=Resources)
    done: int = 0
    down: int = 0

    def __attrs_post_init__(self) -> None:
        """Begin with rules and nodes."""
        reports = [report_of(node) for node in self.cluster.nodes]
        self._append_all([rules_of(self.settings), *reports], 0)
        self._count_nodes()

    def arrive(self, run: AppRun, now_ms: int) -> None:
        """See `World`."""
        self.active[run.job.app_id] = run
        self._append_all([submit_of(run.job, self.settings)], now_ms)

    def fail(self, node_id: str, now_ms: int) -> None:
        """See `World`. An operator sees at once that the machine is off, and says so."""
        self.down += 1
        for run in self.active.values():
            if node_id in run.placement:
                self._hold(run, -1)
                run.evict(now_ms, self.settings.delays.checkpoint_ms)
        self._append_all([NodeLost(node_id=node_id), NodeForgotten(node_id=node_id)], now_ms)
        self._count_nodes()
        self._settle(now_ms)

    def repair(self, node_id: str, now_ms: int) -> None:
        """See `World`."""
        self.down -= 1
        node = next(node for node in self.cluster.nodes if node.node_id == node_id)
        self._append_all([report_of(node)], now_ms)
        self._count_nodes()

    def happen(self, entry: Entry) -> None:
        """See `World`: containers are seen running, or gone; a job ends; a wait is over."""
        what, _, app_id = entry.key.partition(" ")
        run, app = self.active.get(app_id), self.state.apps.get(app_id)
        if run is None or app is None:
            return
        generation = app.generation
        if what == RETRY:
            self._settle(entry.at_ms)
            return
        if generation is None or generation.number != entry.version:
            return
        if what == STARTED and generation.stop is None:
            self._started(run, generation.number, entry.at_ms)
        elif what == GONE:
            self._gone(run, entry.at_ms)
        elif what == DONE and generation.stop is None and run.size:
            self._gone(run, entry.at_ms)
            run.finished_ms = entry.at_ms
            self.done += 1
            del self.active[app_id]
        self._settle(entry.at_ms)

    def round(self, now_ms: int) -> Round:
        """See `World`. The masters' pass, with the layout in it."""
        decisions = self._settle(now_ms, with_layout=True)
        if not decisions:
            return Round()
        (decided,) = decisions
        quality = decided.parts[0].quality
        assert quality is not None, "the first part of a decision has its quality"
        return Round(
            moved=len(join(decided.parts)),
            decision=DecisionResult(
                at_s=now_ms / SECOND_MS,
                cpu_ms=decided.cpu_ms,
                apps=len(self.state.apps),
                touched=decided.touched,
                objective=quality.objective,
                gap=quality.gap,
                loss=quality.loss,
                loss_bound=quality.loss_bound,
                fallback=quality.fallback,
            ),
        )

    def review_ms(self, now_ms: int) -> int | None:
        """See `World`: what the review reconciler says."""
        del now_ms
        due_ms = review.due_in_ms(self.state)
        if due_ms is None:
            return None
        return self.state.looked_at_ms + due_ms

    def _settle(self, now_ms: int, *, with_layout: bool = False) -> list[Decided]:
        """Append what the reconcilers want until they are satisfied; return the decisions.

        At most one decision: what follows from it is waited for, as masters wait before the next.
        """
        decided: list[Decided] = []
        for _ in range(PASSES_MAX):
            state = self.state
            facts: Sequence[Event] = lifecycle.plan(state, self._waited_ms(now_ms))
            if not facts and with_layout and not decided:
                facts = review.plan(state, now_ms - state.looked_at_ms) or self._decide(decided)
            facts = facts or rollout.plan(state)
            if not facts:
                break
            self._append_all(facts, now_ms)
            for fact in facts:
                self._react(fact, now_ms)
        return decided

    def _decide(self, decided: list[Decided]) -> Sequence[LayoutDecided]:
        began_s = time.process_time()
        parts = layout.plan(self.state)
        cpu_ms = (time.process_time() - began_s) * 1000
        if not parts:
            return ()
        touched = 0
        for app_id in join(parts):
            app = self.state.apps[app_id]
            if app.partition:
                touched += 1
                # A lost node's application has no choice, so it is not counted as hasty.
                ran_ms = undisturbed_ms(self.state, app)
                rests = ran_ms is not None and ran_ms < self.state.rules.rest_ms(app.restart_ms)
                run = self.active[app_id]
                run.hasty += rests and not run.is_evicted
        decided.append(Decided(parts=parts, touched=touched, cpu_ms=cpu_ms))
        return parts

    def _react(self, fact: Event, now_ms: int) -> None:
        """Do what agents and containers do about a fact, which takes them time."""
        match fact:
            case GenerationStarted(app_id=app_id, generation=number, members=members):
                run = self.active[app_id]
                works_ms = now_ms + run.restart_ms - run.restart_ms // 2
                run.begin(dict(Counter(one.node_id for one in members)), now_ms, works_ms=works_ms)
                self._hold(run, 1)
                self.agenda.plan(works_ms, Kind.WORLD, f"{STARTED} {app_id}", number)
                self.agenda.plan(run.ends_ms(), Kind.WORLD, f"{DONE} {app_id}", number)
            case CheckpointRequested(app_id=app_id) | StopRequested(app_id=app_id):
                run = self.active[app_id]
                run.halt(now_ms)
                run.restarts += isinstance(fact, CheckpointRequested)
                gone_ms = now_ms + run.restart_ms // 2
                self.agenda.plan(gone_ms, Kind.WORLD, f"{GONE} {app_id}", fact.generation)
            case AppRetrying(app_id=app_id, wait_ms=wait_ms):
                self.agenda.plan(now_ms + wait_ms, Kind.WORLD, f"{RETRY} {app_id}")
            case _:
                pass  # Nobody outside of the masters has anything to do.

    def _started(self, run: AppRun, number: int, now_ms: int) -> None:
        generation = self.state.apps[run.job.app_id].generation
        assert generation is not None, "a generation that was started is there"
        facts = [
            ContainerStarted(
                app_id=run.job.app_id,
                generation=number,
                rank=member.rank,
                node_id=member.node_id,
            )
            for member in generation.live
        ]
        self._append_all(facts, now_ms)

    def _gone(self, run: AppRun, now_ms: int) -> None:
        """Let all containers end well, the first with the step of its checkpoint."""
        generation = self.state.apps[run.job.app_id].generation
        assert generation is not None, "a generation that ends is there"
        if run.size:
            self._hold(run, -1)
            run.leave(now_ms)
        step = int(run.done * STEPS_PER_S)
        facts = [
            ContainerExited(
                app_id=run.job.app_id,
                generation=generation.number,
                rank=member.rank,
                node_id=member.node_id,
                exit_code=0,
                checkpoint_step=step if member.rank == 0 else None,
            )
            for member in generation.live
        ]
        self._append_all(facts, now_ms)

    def _hold(self, run: AppRun, sign: int) -> None:
        self.running += sign
        self.containers += sign * run.size
        self.used += run.job.demand * (sign * run.size)

    def _waited_ms(self, now_ms: int) -> dict[str, int]:
        backoffs = {app.app_id: app.backoff for app in self.state.apps.values() if app.backoff}
        return {
            app_id: now_ms - (backoff.retry_at_ms - backoff.wait_ms)
            for app_id, backoff in backoffs.items()
        }

    def _count_nodes(self) -> None:
        self.total = total_of(node.report.capacity for node in self.state.nodes.values())

    def _append_all(self, facts: Sequence[Event], now_ms: int) -> None:
        """Fold facts in, each at a revision of its own, as if it had been read from the log."""
        stamp = Stamp(at_ms=now_ms, actor="simulation")
        first = self.state.revision + 1
        rows = (
            Recorded(event_id=f"sim-{at:012d}-000", revision=at, stamp=stamp, event=fact)
            for at, fact in enumerate(facts, start=first)
        )
        self.state = fold(rows, self.state)
        if self.state.ignored:
            msg = f"the simulated cluster contradicts itself: {dict(self.state.ignored)}"
            raise DormError(msg)
