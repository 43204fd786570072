"""What finished simulations say, as plain data: the report, the table and the JSON are views of it.

All times are virtual seconds since the start of the trace, all utilizations and shares fractions.
"""

from collections.abc import Mapping
from typing import Final

import attrs
import msgspec

from events.errors import Rejected

FORMAT: Final = "dorm-simulation/1"


@attrs.frozen(kw_only=True)
class Distribution:
    """A sample in a few numbers; all 0 when it is empty. Percentiles are by nearest rank."""

    count: int = 0
    mean: float = 0.0
    min: float = 0.0
    p50: float = 0.0
    p90: float = 0.0
    p99: float = 0.0
    max: float = 0.0


@attrs.frozen(kw_only=True)
class SizeAt:
    """From `at_s` on, the application had `containers` elastic containers."""

    at_s: float
    containers: int


@attrs.frozen(kw_only=True)
class AppResult:
    """What became of one application.

    Attributes:
        kind: What it is, such as `LR`; empty if the trace does not say.
        demand: Of one container: `cpu` in cpus, `memory` in GiB, `gpu`.
        reference_containers: The size that its run time was given for.
        alone_s: Its run time at that size, without queueing.
        started_s, finished_s: First container, last container; None when that never happened.
        queued_s: How long it had no containers between its submit and its end.
        run_s: How long it had containers, restarts included.
        lost_s: How much of `run_s` went into restarts.
        restarts: How often its containers were stopped and started again.
        hasty_touches: Restarts within its minimum run time, apart from those a lost node forced.
        sizes: Every change of its size, in order of time; a waiting application has size 0.
    """

    app_id: str
    name: str
    kind: str = ""
    min: int
    max: int
    weight: float = 1.0
    priority: int = 0
    demand: Mapping[str, float]
    reference_containers: int
    alone_s: float
    submitted_s: float
    started_s: float | None = None
    finished_s: float | None = None
    queued_s: float = 0.0
    run_s: float = 0.0
    lost_s: float = 0.0
    restarts: int = 0
    hasty_touches: int = 0
    sizes: tuple[SizeAt, ...] = ()

    @property
    def completion_s(self) -> float | None:
        """Return the time from the submit to the end, or None if it did not end."""
        return None if self.finished_s is None else self.finished_s - self.submitted_s


@attrs.frozen(kw_only=True)
class Moment:
    """The cluster from `at_s` until the next moment; averages over that time, weighted by it.

    Attributes:
        cpu, memory, gpu: Parts of the healthy cluster that are in use.
        utilization: Their sum over the resources that the cluster has (the paper's utilization).
        loss: Sum over applications of |dominant share - floor-aware fair share|.
        paper_loss: The same against the paper's fair shares, where minimums do not count.
        running, waiting: Applications with and without containers.
        containers: All elastic containers.
    """

    at_s: float
    cpu: float
    memory: float
    gpu: float
    utilization: float
    loss: float
    paper_loss: float
    running: float
    waiting: float
    containers: float


@attrs.frozen(kw_only=True)
class DecisionResult:
    """One decision round.

    Attributes:
        cpu_ms: Processor time of this machine that it took: the one figure that is not repeatable.
        apps: How many applications it was about.
        touched: How many running applications it disturbed.
        fallback: Why fairness alone decided, if the policy's own decision broke a rule.
    """

    at_s: float
    cpu_ms: float
    apps: int
    touched: int
    objective: float
    gap: float
    loss: float
    loss_bound: float
    fallback: str = ""


@attrs.frozen(kw_only=True)
class Summary:
    """One policy's run in numbers.

    Attributes:
        utilization_5h, utilization: Averages over the first five hours and until the last end.
        resource_utilization: The same as `utilization` by resource: `cpu`, `memory`, `gpu`.
        loss_24h, loss, loss_max: Fairness loss, averages over the first day and the whole run.
        paper_loss_24h, paper_loss: The same against the paper's fair shares.
        completion_s: From submit to end, queueing included.
        slowdown: Completion time over the run time at the reference size, alone.
        speedup: Completion time under the baseline over the one here, by application; without
            applications unless there is a baseline.
        speedup_of_mean: Mean completion time under the baseline over the mean here; 0 without.
        makespan_s: From the first submit to the last end.
        restarts_per_app: Mean.
        overhead: Time lost in restarts over time with containers, of all applications.
        hasty_touches: Applications disturbed within their minimum run time; should be 0.
        decision_ms: Processor time of the decisions.
        gap_mean, gap_max: Of the decisions, to their own upper bounds.
        fallbacks: Decisions that fairness alone took, because the policy's broke a rule.
        unfinished: Applications that did not end.
        wall_s, cpu_s: What the whole simulation took on this machine.
    """

    apps: int
    unfinished: int
    utilization_5h: float
    utilization: float
    resource_utilization: Mapping[str, float]
    loss_24h: float
    loss: float
    loss_max: float
    paper_loss_24h: float
    paper_loss: float
    completion_s: Distribution
    queued_s: Distribution
    slowdown: Distribution
    speedup: Distribution
    speedup_of_mean: float = 0.0
    makespan_s: float
    restarts_per_app: float
    restarts_max: int
    overhead: float
    hasty_touches: int
    decisions: int
    decision_ms: Distribution
    gap_mean: float
    gap_max: float
    fallbacks: int = 0
    node_failures: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0


@attrs.frozen(kw_only=True)
class PolicyRun:
    """One policy on the whole trace.

    Attributes:
        label: Names it in tables: the policy, and the options that tell it from the others.
        options: Of the decisions, as JSON.
        apps: In order of submission.
        moments: In order of time, beginning at 0; thinned out when there are very many.
        decisions: In order of time; thinned out when there are very many.
    """

    policy: str
    label: str
    seed: int
    options: Mapping[str, str | int | float | bool]
    summary: Summary
    apps: tuple[AppResult, ...]
    moments: tuple[Moment, ...]
    decisions: tuple[DecisionResult, ...]


@attrs.frozen(kw_only=True)
class Results:
    """Everything that one `dorm simulate` found out.

    Attributes:
        trace: Name of the trace or the generated workload.
        cluster: As it was given: `20x12cpu`.
        capacity: Of the cluster in sum: `cpu` in cpus, `memory` in GiB, `gpu`.
        fidelity: `layout` or `facts`, see `dorm.simulate.engine`.
        restart_s, round_s: What a restart costs on average; how long changes are collected.
        baseline: Label of the run that speed-ups are measured against; empty for none.
        runs: In the order in which policies were asked for (and seed by seed).
        notes: What a reader should know, such as how a trace was mapped.
        version: Of Dorm.
        command: What to type to have the same again; empty if nobody typed it.
    """

    trace: str
    cluster: str
    nodes: int
    capacity: Mapping[str, float]
    fidelity: str
    restart_s: float
    round_s: float
    baseline: str = ""
    runs: tuple[PolicyRun, ...]
    notes: tuple[str, ...] = ()
    version: str = ""
    command: str = ""
    format: str = FORMAT


def to_json(results: Results) -> bytes:
    """Return the JSON document of `results`."""
    return msgspec.json.encode(results)


def from_json(raw: bytes) -> Results:
    """Return the results that `to_json` wrote.

    Raises:
        Rejected: It is no such document.
    """
    try:
        results = msgspec.json.decode(raw, type=Results)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        msg = f"is no result of `dorm simulate`: {error}"
        raise Rejected(msg, field="results") from error
    if results.format != FORMAT:
        raise Rejected("has a format of another version", field="results", value=results.format)
    return results
