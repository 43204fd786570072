"""The world at fidelity `layout`: `decide`, and places that follow it at once.

A restart is a pause in the job's work. So nothing happens between decisions but the ends of jobs,
and weeks of a large cluster take minutes.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from dorm.simulate.agenda import Agenda, Entry, Kind
from dorm.simulate.app_run import AppRun
from dorm.simulate.clusters import Cluster
from dorm.simulate.engine import Round
from dorm.simulate.job import SECOND_MS, Curve, speed_points
from dorm.simulate.results import DecisionResult
from dorm.simulate.settings import RunSettings
from events.errors import DormError
from events.units import Resources, total_of
from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Snapshot, SpeedPoint
from reconcilers.layout.speed import fit
from reconcilers.review import pause_ms

Decide = Callable[[Snapshot], Decision]

LEADING_BITS: Final = 5


@attrs.define(eq=False)
class LayoutWorld:
    """See `engine.World`. Everything is in whole numbers but the progress of jobs.

    Attributes:
        decide: The policy.
        nodes: Those that are up.
        used_on: What containers hold of each node.
    """

    cluster: Cluster
    settings: RunSettings
    agenda: Agenda
    decide: Decide
    active: dict[str, AppRun] = attrs.field(factory=dict)
    running: int = 0
    containers: int = 0
    used: Resources = attrs.field(factory=Resources)
    total: Resources = attrs.field(factory=Resources)
    done: int = 0
    nodes: tuple[NodeOffer, ...] = ()
    _down: set[str] = attrs.field(factory=set)
    used_on: dict[str, Resources] = attrs.field(factory=dict)
    _requests: dict[str, tuple[tuple[int, int, int], AppRequest]] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Begin with every node up."""
        self._count_nodes()

    @property
    def down(self) -> int:
        """See `World`."""
        return len(self._down)

    def arrive(self, run: AppRun, now_ms: int) -> None:
        """See `World`."""
        del now_ms
        self.active[run.job.app_id] = run

    def fail(self, node_id: str, now_ms: int) -> None:
        """See `World`. A job with a container there loses all of them."""
        self._down.add(node_id)
        for run in self.active.values():
            if node_id in run.placement:
                self._hold(run, run.placement, -1)
                run.evict(now_ms, self.settings.delays.checkpoint_ms)
        self._count_nodes()

    def repair(self, node_id: str, now_ms: int) -> None:
        """See `World`."""
        del now_ms
        self._down.discard(node_id)
        self._count_nodes()

    def happen(self, entry: Entry) -> None:
        """See `World`: a job ends, unless it was resized since."""
        run = self.active.get(entry.key)
        if run is None or run.version != entry.version:
            return
        self._hold(run, run.placement, -1)
        run.finish(entry.at_ms)
        del self.active[entry.key]
        self._requests.pop(entry.key, None)
        self.done += 1

    def round(self, now_ms: int) -> Round:
        """See `World`.

        Raises:
            DormError: The decision is unsound.
        """
        snapshot = self.snapshot(now_ms)
        began_s = time.process_time()
        decision = self.decide(snapshot)
        cpu_ms = (time.process_time() - began_s) * 1000
        moved, touched = self.apply(decision.placements, now_ms)
        for run in moved:
            if run.size:
                self.agenda.plan(run.ends_ms(), Kind.WORLD, run.job.app_id, run.version)
        result = DecisionResult(
            at_s=now_ms / SECOND_MS,
            cpu_ms=cpu_ms,
            apps=len(snapshot.apps),
            touched=touched,
            objective=decision.objective,
            gap=decision.gap,
            loss=decision.loss,
            loss_bound=decision.loss_bound,
            fallback=decision.fallback,
        )
        return Round(decision=result, moved=len(moved))

    def review_ms(self, now_ms: int) -> int | None:
        """See `World`: while a job waits, or rests because it was changed a short while ago."""
        options = self.settings.options
        pause = pause_ms(options)
        waits: list[int] = []
        for run in self.active.values():
            if not run.size:
                waits.append(max(options.gang_wait_ms, pause))
            elif run.disturbed_ms is not None:
                rests_ms = run.disturbed_ms + options.rest_ms(run.restart_ms) - now_ms
                if rests_ms > 0:
                    waits.append(max(rests_ms, pause))
        return now_ms + min(waits) if waits else None

    def snapshot(self, now_ms: int) -> Snapshot:
        """Return what the policy decides from."""
        apps = tuple(self._request(run, now_ms) for run in self.active.values())
        return Snapshot(nodes=self.nodes, apps=apps, options=self.settings.options)

    def apply(
        self, placements: Mapping[str, Mapping[str, int]], now_ms: int
    ) -> tuple[list[AppRun], int]:
        """Put the decision into force; return the jobs it moved, and how many of them were running.

        Raises:
            DormError: The decision is unsound: it overfills a node, or breaks a job's bounds.
        """
        moved: list[AppRun] = []
        touched = 0
        for app_id, run in self.active.items():
            placement = placements.get(app_id, {})
            if placement == run.placement:
                continue
            touched += bool(run.size)
            self._hold(run, run.placement, -1)
            kept = {node: count for node, count in placement.items() if count}
            run.move(kept, now_ms, rest_ms=self.settings.options.rest_ms(run.restart_ms))
            self._hold(run, kept, 1)
            moved.append(run)
        self._check(moved)
        return moved, touched

    def _hold(self, run: AppRun, placement: Mapping[str, int], sign: int) -> None:
        demand = run.job.demand
        self.running += sign * bool(placement)
        self.containers += sign * sum(placement.values())
        for node_id, count in placement.items():
            amount = demand * (sign * count)
            self.used_on[node_id] = self.used_on.get(node_id, Resources()) + amount
            self.used += amount

    def _count_nodes(self) -> None:
        self.nodes = tuple(node for node in self.cluster.nodes if node.node_id not in self._down)
        self.total = total_of(node.capacity for node in self.nodes)

    def _request(self, run: AppRun, now_ms: int) -> AppRequest:
        """Return the job's request; the last one if hardly anything can tell the difference.

        Rests and waits count only up to the limit that a rule compares them with, and ages are
        rounded to a thirty-second, so most requests stay the same: long queues are cheap.
        """
        options, app_id = self.settings.options, run.job.app_id
        if run.size:
            limit_ms, since_ms = options.min_run_ms, run.disturbed_ms
        else:
            limit_ms, since_ms = options.gang_wait_ms, run.waits_since_ms
        since_ms = limit_ms if since_ms is None else min(now_ms - since_ms, limit_ms)
        age_ms = _coarse(now_ms - run.job.submitted_ms)
        state = (run.version, since_ms, age_ms)
        known = self._requests.get(app_id)
        if known is not None and known[0] == state:
            return known[1]
        speed = self._speeds(run, known[1] if known else None)
        request = _request_of(run, since_ms, age_ms, speed)
        self._requests[app_id] = (state, request)
        return request

    def _speeds(self, run: AppRun, known: AppRequest | None) -> tuple[SpeedPoint, ...]:
        match self.settings.speeds:
            case "given":
                return known.speed if known else speed_points(run.job)
            case "learnt":
                alpha = fit(run.measured)
                if alpha is None:
                    return ()
                return speed_points(attrs.evolve(run.job, curve=Curve(alpha=alpha)))
            case "none":
                return ()

    def _check(self, moved: list[AppRun]) -> None:
        for run in moved:
            if run.size and not run.job.min <= run.size <= run.job.max:
                msg = f"the policy gave {run.job.app_id} {run.size} containers, out of its bounds"
                raise DormError(msg)
        capacity = {node.node_id: node.capacity for node in self.nodes}
        touched = Counter(node for run in moved for node in run.placement)
        for node_id in touched:
            room = capacity.get(node_id)
            if room is None or not self.used_on[node_id].fits_in(room):
                msg = f"the policy placed more on {node_id} than it has"
                raise DormError(msg)


def _request_of(
    run: AppRun, since_ms: int, age_ms: int, speed: tuple[SpeedPoint, ...]
) -> AppRequest:
    job = run.job
    return AppRequest(
        app_id=job.app_id,
        demand=job.demand,
        min=job.min,
        max=job.max,
        weight=job.weight,
        priority=job.priority,
        submitted_ms=job.submitted_ms,
        waited_ms=0 if run.size else since_ms,
        ran_ms=since_ms if run.size else None,
        age_ms=age_ms,
        restart_ms=run.restart_ms,
        placement=run.placement,
        speed=speed,
        is_evicted=run.is_evicted,
    )


def _coarse(span_ms: int) -> int:
    """Return the span with its five leading bits only."""
    below = max(0, span_ms.bit_length() - LEADING_BITS)
    return span_ms >> below << below
