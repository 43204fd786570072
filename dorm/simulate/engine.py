"""The loop of a simulation: arrivals, failures, and rounds of decisions, over virtual time.

What lies between is the world's, of which there are two: `layout_world` asks for decisions and
carries them out itself; `facts_world` has every event of a real cluster. Events of one moment are
all carried out before a decision is taken, and two decisions are at least `round_ms` apart, as at
the masters. Between events nothing changes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import attrs

from dorm.simulate.agenda import Agenda, Entry, Kind
from dorm.simulate.app_run import AppRun
from dorm.simulate.clusters import Cluster
from dorm.simulate.failures import failure_times, restart_ms
from dorm.simulate.fair import loss_of
from dorm.simulate.job import SECOND_MS, Job
from dorm.simulate.recorder import Recorder
from dorm.simulate.results import DecisionResult
from dorm.simulate.settings import RunSettings
from events.units import Resources

Tell = Callable[[float, int], None]
IDLE_ROUNDS: Final = 3  # after so many with an empty cluster, no more time helps those that wait
TELL_EVERY: Final = 50  # events between two words on the progress


@attrs.frozen(kw_only=True)
class Round:
    """What one round of decisions did.

    Attributes:
        decision: None if there was nothing to decide.
        moved: How many jobs got other places.
    """

    decision: DecisionResult | None = None
    moved: int = 0


class World(Protocol):
    """The simulated cluster. It plans its own events on the agenda that it was made with.

    Attributes:
        active: Jobs between submit and end, by id, in order of submission.
        running, containers: How many jobs have containers, and how many these are.
        used, total: What containers hold, and what the nodes that are up have, together.
        down: How many nodes are away.
        done: How many jobs have ended.
    """

    active: dict[str, AppRun]
    running: int
    containers: int
    used: Resources
    total: Resources
    done: int

    @property
    def down(self) -> int: ...  # noqa: D102 - see above

    def arrive(self, run: AppRun, now_ms: int) -> None:
        """Take a job into the queue."""

    def fail(self, node_id: str, now_ms: int) -> None:
        """Take a node away, with all that runs there."""

    def repair(self, node_id: str, now_ms: int) -> None:
        """Bring a node back, empty."""

    def happen(self, entry: Entry) -> None:
        """Carry out an event of the world's own, unless it is void."""

    def round(self, now_ms: int) -> Round:
        """Decide, and carry it out."""

    def review_ms(self, now_ms: int) -> int | None:
        """Return when time alone may be a reason to decide again, or None."""


@attrs.define(eq=False, kw_only=True)
class Engine:
    """One run. Use `run` once.

    Attributes:
        world: Made with the same agenda.
        tell: Called now and then with virtual seconds and the number of jobs done.
        runs: The jobs, in order of submission.
    """

    cluster: Cluster
    jobs: Sequence[Job]
    settings: RunSettings
    agenda: Agenda
    world: World
    tell: Tell = lambda _seconds, _done: None
    recorder: Recorder = attrs.field(factory=Recorder)
    runs: list[AppRun] = attrs.field(factory=list)
    failures: int = 0
    _by_id: dict[str, AppRun] = attrs.field(factory=dict)
    _fail_times: dict[str, Iterator[int]] = attrs.field(factory=dict)
    _to_come: int = 0
    _round_at_ms: int | None = None
    _last_round_ms: int | None = None
    _idle_rounds: int = 0

    def run(self) -> None:
        """Simulate until every job has ended, or none that is left can ever start."""
        self._plan_arrivals()
        self._plan_failures()
        events = 0
        while self.agenda and not self._is_over():  # Arrivals end, and the work of jobs shrinks.
            entry = self.agenda.next()
            if entry.kind is Kind.ROUND and entry.at_ms != self._round_at_ms:
                continue  # An earlier round was planned since.
            self._note(entry.at_ms)
            self._carry_out(entry)
            events += 1
            if events % TELL_EVERY == 0:
                self.tell(entry.at_ms / SECOND_MS, self.world.done)
        for run in self.world.active.values():
            run.advance(self.recorder.now_ms)

    def _note(self, at_ms: int) -> None:
        world = self.world
        counts = (world.running, len(world.active) - world.running, world.containers)
        self.recorder.advance(at_ms, world.used, world.total, counts)

    def _carry_out(self, entry: Entry) -> None:
        key, now_ms = entry.key, entry.at_ms
        match entry.kind:
            case Kind.WORLD:
                self.world.happen(entry)
            case Kind.ARRIVE:
                self._to_come -= 1
                self.world.arrive(self._by_id[key], now_ms)
            case Kind.FAIL:
                self.failures += 1
                self.world.fail(key, now_ms)
                self.agenda.plan(now_ms + self.settings.delays.repair_ms, Kind.REPAIR, key)
            case Kind.REPAIR:
                self.world.repair(key, now_ms)
                self.agenda.plan(next(self._fail_times[key]), Kind.FAIL, key)
            case Kind.ROUND:
                self._round(now_ms)
                return
        self._idle_rounds = 0
        self._want_round(now_ms)

    def _round(self, now_ms: int) -> None:
        self._round_at_ms, self._last_round_ms = None, now_ms
        if self.world.active and self.world.total != Resources():
            done = self.world.round(now_ms)
            self._idle_rounds = 0 if done.moved else self._idle_rounds + 1
            if done.decision:
                self.recorder.decisions.append(done.decision)
            review_ms = self.world.review_ms(now_ms)
            if review_ms is not None:
                self._want_round(max(review_ms, now_ms + 1))
        loss = loss_of(tuple(self.world.active.values()), self.world.total)
        self.recorder.loss, self.recorder.paper_loss = loss.floor_aware, loss.paper

    def _want_round(self, at_ms: int) -> None:
        """Plan a decision for then, or as soon as the last one is long enough ago."""
        if self._last_round_ms is not None:
            at_ms = max(at_ms, self._last_round_ms + self.settings.delays.round_ms)
        if self._round_at_ms is None or at_ms < self._round_at_ms:
            self._round_at_ms = at_ms
            self.agenda.plan(at_ms, Kind.ROUND)

    def _is_over(self) -> bool:
        """Return whether nothing can happen any more but failures and repairs."""
        if self._to_come:
            return False
        world = self.world
        stuck = self._idle_rounds >= IDLE_ROUNDS and not world.running and not world.down
        return not world.active or stuck

    def _plan_arrivals(self) -> None:
        settings = self.settings
        for job in self.jobs:
            run = AppRun(
                job=job.rigid() if settings.is_rigid else job,
                asked=job,
                restart_ms=restart_ms(
                    settings.seed,
                    job.app_id,
                    mean_ms=settings.delays.restart_ms,
                    spread=settings.delays.spread,
                ),
                as_of_ms=job.submitted_ms,
                waits_since_ms=job.submitted_ms,
            )
            self.runs.append(run)
            self._by_id[job.app_id] = run
            self.agenda.plan(job.submitted_ms, Kind.ARRIVE, job.app_id)
        self._to_come = len(self.jobs)

    def _plan_failures(self) -> None:
        delays = self.settings.delays
        for node in self.cluster.nodes if delays.mtbf_ms else ():
            times = failure_times(
                self.settings.seed,
                node.node_id,
                mtbf_ms=delays.mtbf_ms,
                repair_ms=delays.repair_ms,
            )
            self._fail_times[node.node_id] = times
            self.agenda.plan(next(times), Kind.FAIL, node.node_id)
