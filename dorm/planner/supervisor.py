"""The production planner: a child, and what to do when it fails.

A failure costs a worse layout for a while, never the masters or anybody's containers:

1. The greedy `drf` policy decides at once, in a child with the same limits. The decision says why
   (`quality.fallback`). If that fails too, nothing is decided and everything runs on.
2. Then the guilty application is searched for, one trial a call, so that a search never keeps a
   change waiting. It is quarantined, as a fact, and layouts are decided without it.
3. When nobody is guilty, the cluster's own policy rests for a while, longer each time.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import attrs
import structlog

from dorm.backoff import Backoff
from dorm.config import PlannerConfig
from dorm.planner import search
from dorm.planner.checks import objection
from dorm.planner.messages import Answer
from dorm.planner.pipe import COMMAND, Failure, Fault, Pipe
from dorm.planner.port import Plan
from dorm.ports import Clock, Randomness
from events.apps import AppQuarantined, AppSpec
from events.fold import fold
from events.layouts import LayoutDecided, LayoutQuality
from events.recorded import Recorded, Stamp
from events.state import ClusterState

_log = structlog.get_logger()

FALLBACK: Final = "drf"
REST_FIRST_S: Final = 30.0
REST_MAX_S: Final = 3_600.0
QUARANTINES_MAX: Final = 3  # in a row; if that does not heal, the fault lies elsewhere

_MAY_PASS: Final = (Fault.DIED, Fault.MEMORY)  # what another child, without a past, may not do


class ChildPlanner:
    """Plans in a child process. See the module for what happens when that fails."""

    def __init__(
        self,
        config: PlannerConfig,
        *,
        clock: Clock,
        randomness: Randomness,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self._pipe = Pipe(config, command)
        self._clock = clock
        self._restarts = Backoff(clock, randomness)
        self._rests = Backoff(clock, randomness, first_s=REST_FIRST_S, max_s=REST_MAX_S)
        self._rests_until: float | None = None
        self._good: dict[str, AppSpec] = {}
        self._trouble = ""
        self._search: search.Trials | None = None
        self._held_out: tuple[str, ...] = ()
        self._quarantines = 0
        self._cpu_ms = self._rss_bytes = 0

    @property
    def pid(self) -> int | None:
        """Return the child's process id; None while there is none."""
        return self._pipe.pid

    async def warm(self) -> None:
        """Have a child ready before the first plan: a new leader's decision is waited for.

        Not while a plan is being made.
        """
        await self._pipe.warm()

    async def plan(self, state: ClusterState) -> Plan:
        """See `Planner`. One call makes two attempts of the cluster's policy at most."""
        self._cpu_ms = 0
        if self._search is not None:
            plan = await self._go_on_searching(state)
        elif self._resting():
            plan = await self._fall_back(state)
        else:
            plan = await self._try(state)
        return attrs.evolve(plan, cpu_ms=self._cpu_ms, rss_bytes=self._rss_bytes)

    async def close(self) -> None:
        """End the child."""
        await self._pipe.end()

    async def _try(self, state: ClusterState) -> Plan:
        outcome = await self._attempt(state, None)
        if not isinstance(outcome, Failure):
            self._succeeded(state)
            return Plan(decisions=outcome)
        self._trouble = outcome.sentence
        if self._quarantines < QUARANTINES_MAX:
            self._begin_search(state)
        else:
            self._rest()
        return await self._fall_back(state)

    def _succeeded(self, state: ClusterState) -> None:
        self._good = {app.app_id: app.spec for app in state.apps.values() if not app.quarantine}
        self._quarantines, self._rests_until = 0, None
        self._rests.reset()

    async def _fall_back(self, state: ClusterState) -> Plan:
        """Decide greedily, and say why."""
        searching = self._search is not None
        outcome = await self._attempt(state, FALLBACK)
        if isinstance(outcome, Failure):
            _log.error("planner.no_layout", error=outcome.sentence, first=self._trouble)
            return Plan(fallback=self._trouble, again=searching)
        decisions = tuple(_because(part, self._trouble) for part in outcome)
        return Plan(decisions=decisions, fallback=self._trouble, again=searching)

    # The search

    def _begin_search(self, state: ClusterState) -> None:
        order = sorted(
            (app for app in state.apps.values() if not app.quarantine),
            key=lambda app: (app.submitted_revision, app.app_id),
            reverse=True,
        )
        new = tuple(app.app_id for app in order if self._good.get(app.app_id) != app.spec)
        old = tuple(app.app_id for app in order if self._good.get(app.app_id) == app.spec)
        self._search = search.trials(new, old)
        self._step(healed=None)

    async def _go_on_searching(self, state: ClusterState) -> Plan:
        """Make one trial, or answer what has changed since the last call."""
        outcome = await self._attempt(_held_out(state, self._held_out, self._trouble), None)
        guilty = self._step(healed=not isinstance(outcome, Failure))
        if not guilty:
            return await self._fall_back(state)
        if guilty not in state.apps:
            return Plan(again=True)  # It ended meanwhile, and took the trouble with it.
        self._quarantines += 1
        _log.error("planner.quarantined", app=guilty, reason=self._trouble)
        return Plan(quarantined=(AppQuarantined(app_id=guilty, reason=self._trouble),))

    def _step(self, *, healed: bool | None) -> str | None:
        """Tell the search what came of its trial; return its verdict, None while it goes on.

        The verdict is an application, or "" when none is guilty.
        """
        assert self._search is not None
        try:
            self._held_out = next(self._search) if healed is None else self._search.send(healed)
        except StopIteration as end:
            self._search, self._held_out = None, ()
            guilty: str = end.value
            if not guilty:
                _log.error("planner.nobody_guilty", reason=self._trouble)
                self._rest()
            return guilty
        return None

    # Attempts

    async def _attempt(
        self, state: ClusterState, policy: str | None
    ) -> tuple[LayoutDecided, ...] | Failure:
        """Ask once, and once more where an old child failed in a way that a new one may not."""
        was_fresh = self._pipe.is_fresh
        outcome = await self._ask(state, policy)
        if isinstance(outcome, Failure) and outcome.fault in _MAY_PASS and not was_fresh:
            outcome = await self._ask(state, policy)
        return outcome

    async def _ask(
        self, state: ClusterState, policy: str | None
    ) -> tuple[LayoutDecided, ...] | Failure:
        answer = await self._pipe.ask(state, policy)
        outcome = answer if isinstance(answer, Failure) else await self._judged(state, answer)
        if isinstance(outcome, Failure):
            _log.warning("planner.failed", fault=outcome.fault.value, error=outcome.sentence)
            if self._pipe.pid is None:
                await self._restarts.wait()
        else:
            self._restarts.reset()
        return outcome

    async def _judged(
        self, state: ClusterState, answer: Answer
    ) -> tuple[LayoutDecided, ...] | Failure:
        self._cpu_ms += answer.cpu_ms
        self._rss_bytes = answer.rss_bytes
        try:
            # At 10,000 nodes this takes more than half a second, and leases have to be kept.
            wrong = await asyncio.to_thread(objection, state, answer.decisions)
        except Exception as error:  # noqa: BLE001 - nothing that a child says may stop a master
            wrong = f"{type(error).__name__}: {error}"
        if not wrong:
            return answer.decisions
        await self._pipe.end()
        return Failure(Fault.NONSENSE, f"the planner's layout is unsound: {wrong}")

    def _rest(self) -> None:
        rest_s = self._rests.next_s()
        self._rests_until = self._clock.monotonic() + rest_s
        _log.warning("planner.rests", policy_rests_s=round(rest_s), reason=self._trouble)

    def _resting(self) -> bool:
        return self._rests_until is not None and self._clock.monotonic() < self._rests_until


def _because(part: LayoutDecided, why: str) -> LayoutDecided:
    """Return a part with the reason for its policy; the quality stands in the first one."""
    if part.part > 1:
        return part
    return attrs.evolve(part, quality=attrs.evolve(part.quality or LayoutQuality(), fallback=why))


def _held_out(state: ClusterState, app_ids: tuple[str, ...], why: str) -> ClusterState:
    """Return the state as it would be with these applications in quarantine."""
    stamp = Stamp(at_ms=state.now_ms, actor="planner", cause="trial")
    return fold(
        (
            Recorded(
                event_id=f"trial-{index}",
                revision=state.revision,
                segment=0,
                stamp=stamp,
                previous="",
                event=AppQuarantined(app_id=app_id, reason=why),
            )
            for index, app_id in enumerate(app_ids)
        ),
        state,
    )
