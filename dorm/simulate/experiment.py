"""Several policies and seeds on one trace and one cluster: what `dorm simulate` does."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs
from attrs.validators import min_len

from dorm.simulate.clusters import Cluster
from dorm.simulate.job import Job
from dorm.simulate.metrics import compared
from dorm.simulate.results import Results
from dorm.simulate.runs import Order, Progress, run_all
from dorm.simulate.settings import Delays, Fidelity, RunSettings, Speeds
from dorm.simulate.traces.elastic import Elasticity, fitting, make_jobs
from dorm.simulate.traces.read import read_trace
from dorm.simulate.workloads import WORKLOADS
from events.units import Resources
from reconcilers.layout.snapshot import Options

GIB: Final = 1 << 30


Watch = Callable[[Sequence[Order]], Progress]
"""Called once with the runs that will be made; returns what is told of their progress."""


@attrs.frozen(kw_only=True)
class Source:
    """Where the jobs come from, and how a rigid trace becomes an elastic one.

    Attributes:
        trace: A file or directory, or the name of a generated workload.
        limit: Only so many jobs, the first ones; 0 for all.
    """

    trace: str
    workload: str = ""
    elasticity: Elasticity = attrs.field(factory=Elasticity)
    alpha: float = 0.03
    container: Resources | None = None
    spacing_s: float = 0.0
    limit: int = 0

    @property
    def name(self) -> str:
        """Return what the results call it."""
        return self.trace if self.trace in WORKLOADS else Path(self.trace).name

    def jobs(self, seed: int) -> tuple[tuple[Job, ...], tuple[str, ...]]:
        """Return the jobs, and notes for the user. A trace from a file is the same for all seeds.

        Raises:
            Rejected: The trace cannot be read.
        """
        if self.trace in WORKLOADS:
            return self._first(WORKLOADS[self.trace](seed)), ()
        trace = read_trace(Path(self.trace), workload=self.workload, spacing_s=self.spacing_s)
        jobs = make_jobs(
            trace, elasticity=self.elasticity, alpha=self.alpha, container=self.container
        )
        mapped = f"bounds {self.elasticity.text} of the request, speed n/(1+{self.alpha:g}(n-1))"
        notes = (f"where the trace does not say: {mapped}",)
        return self._first(jobs), trace.notes + notes

    def _first(self, jobs: tuple[Job, ...]) -> tuple[Job, ...]:
        return jobs[: self.limit] if self.limit else jobs


@attrs.frozen(kw_only=True)
class Experiment:
    """What to simulate.

    Attributes:
        policies: Options by label, in the order of the report.
        baseline: Label of the policy that speed-ups are measured against; empty for none.
        cores: How many runs at a time; 0 for one on each core of this machine.
    """

    source: Source
    cluster: Cluster
    policies: Sequence[tuple[str, Options]] = attrs.field(validator=min_len(1))
    seeds: Sequence[int] = attrs.field(default=(0,), validator=min_len(1))
    baseline: str = ""
    fidelity: Fidelity = "layout"
    speeds: Speeds = "given"
    delays: Delays = attrs.field(factory=Delays)
    cores: int = 0

    def orders(self) -> tuple[list[Order], tuple[str, ...]]:
        """Return the runs to make, and notes for the user.

        Raises:
            Rejected: The trace cannot be read, or no job fits.
        """
        orders: list[Order] = []
        notes: dict[str, None] = {}
        read: dict[int, tuple[tuple[Job, ...], tuple[str, ...]]] = {}
        is_generated = self.source.trace in WORKLOADS
        for seed in self.seeds:
            key = seed if is_generated else 0
            if key not in read:
                jobs, said = self.source.jobs(seed)
                kept, more = fitting(jobs, self.cluster)
                read[key] = kept, said + more
            jobs, said = read[key]
            notes |= dict.fromkeys(said)
            for label, options in self.policies:
                settings = RunSettings(
                    label=label,
                    options=attrs.evolve(options, seed=seed),
                    seed=seed,
                    fidelity=self.fidelity,
                    speeds=self.speeds,
                    delays=self.delays,
                )
                orders.append(Order(cluster=self.cluster, jobs=jobs, settings=settings))
        return orders, tuple(notes)


def simulate(experiment: Experiment, *, watch: Watch, version: str = "") -> Results:
    """Return the results of all runs.

    Raises:
        Rejected: The trace cannot be read, or no job fits the cluster.
        DormError: A policy was unsound, or a process died.
    """
    orders, notes = experiment.orders()
    runs = run_all(orders, progress=watch(orders), cores=experiment.cores)
    total, baseline = experiment.cluster.total, experiment.baseline
    return Results(
        trace=experiment.source.name,
        cluster=experiment.cluster.text,
        nodes=len(experiment.cluster.nodes),
        capacity={
            "cpu": total.cpu_milli / 1000,
            "memory": round(total.memory_bytes / GIB, 3),
            "gpu": total.gpu_count,
        },
        fidelity=experiment.fidelity,
        restart_s=experiment.delays.restart_ms / 1000,
        round_s=experiment.delays.round_ms / 1000,
        baseline=baseline,
        runs=compared(runs, baseline) if baseline else tuple(runs),
        notes=tuple(notes),
        version=version,
    )
