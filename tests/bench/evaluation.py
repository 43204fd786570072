"""The evaluation of the Dorm paper, run again: tables and plots for docs/evaluation.md.

    python -m tests.bench.evaluation --seeds 5 --out docs/evaluation

The setting is that of section V of the paper (Sun et al., "Towards Distributed Machine Learning in
Shared Clusters: A Dynamically-Partitioned Approach", 2017): 20 servers with 240 CPUs, 5 GPUs and
2.5 TB of memory in sum, 50 applications, and three settings of theta 1 and theta 2. Writes
`tables.md` and PNG files; everything but processor times is the same on every machine.

A lighter load, the same applications 30 or 40 minutes apart, and one policy only:

    python -m tests.bench.evaluation --trace paper-40m --only goodput:loss=0.2,touch=0.1 --out light
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from dorm.simulate.clusters import read_cluster
from dorm.simulate.experiment import Experiment, Source, simulate
from dorm.simulate.report import markdown_table
from dorm.simulate.report.canvas import to_png
from dorm.simulate.report.groups import Group, groups_of
from dorm.simulate.report.sections import sections_of
from dorm.simulate.report.table import markdown
from dorm.simulate.report.theme import LIGHT
from dorm.simulate.results import Results, Summary, from_json, to_json
from dorm.simulate.runs import Order
from dorm.simulate.settings import read_policy
from dorm.simulate.workloads import WORKLOADS
from dorm.version import dorm_version
from reconcilers.layout.snapshot import Options
from tests.bench import evaluation_reasons as reasons

CLUSTER: Final = "5x12cpu128g1gpu,15x12cpu128g"
THETAS: Final = ((0.2, 0.1), (0.1, 0.1), (0.1, 0.2))
BASELINE: Final = "static"
OURS: Final = ("utilization", "goodput")
LABELS: Final = (
    BASELINE,
    "two-level",
    "drf",
    *(f"{name}:loss={loss:g},touch={touch:g}" for name in OURS for loss, touch in THETAS),
)
DRAWN: Final = (
    BASELINE,
    "two-level",
    "utilization:loss=0.1,touch=0.1",
    "goodput:loss=0.2,touch=0.1",
)
PLOTS: Final = ("utilization", "fairness", "completion", "speedup", "overhead", "restarts")


@attrs.frozen(kw_only=True)
class Claim:
    """One figure of the paper, and how to take ours.

    Attributes:
        paper: What the paper says, as it says it.
        of: Takes ours from a run and the run of the baseline with the same seed.
        form: How it is written.
    """

    name: str
    paper: str
    of: Callable[[Summary, Summary], float]
    form: str = "{:.2f}x"


CLAIMS: Final = (
    Claim(
        name="utilization in the first five hours, times static",
        paper="up to 2.32x",
        of=lambda ours, base: _ratio(ours.utilization_5h, base.utilization_5h),
    ),
    Claim(
        name="fairness loss of static, times ours (the paper's shares, first day)",
        paper="up to 1.52x",
        of=lambda ours, base: _ratio(base.paper_loss_24h, ours.paper_loss_24h),
    ),
    Claim(
        name="fairness loss of static, times ours (floor-aware shares, first day)",
        paper="",
        of=lambda ours, base: _ratio(base.loss_24h, ours.loss_24h),
    ),
    Claim(
        name="best speed-up of an application",
        paper="up to 2.72x",
        of=lambda ours, _: ours.speedup.max,
    ),
    Claim(name="mean speed-up", paper="", of=lambda ours, _: ours.speedup.mean),
    Claim(name="worst speed-up", paper="", of=lambda ours, _: ours.speedup.min),
    Claim(
        name="mean completion time of static, times ours",
        paper="",
        of=lambda ours, base: _ratio(base.completion_s.mean, ours.completion_s.mean),
    ),
    Claim(
        name="overhead of sharing",
        paper="below 5 %",
        of=lambda ours, _: 100 * ours.overhead,
        form="{:.2f} %",
    ),
)


def evaluate(
    *, seeds: int, cores: int = 0, trace: str = "paper", labels: Sequence[str] = LABELS
) -> Results:
    """Return the results of policies and settings on the paper's workload."""
    base = Options()
    experiment = Experiment(
        source=Source(trace=trace),
        cluster=read_cluster(CLUSTER),
        policies=[(label, read_policy(label, base)) for label in labels],
        seeds=tuple(range(seeds)),
        baseline=BASELINE,
        cores=cores,
    )
    return simulate(experiment, watch=_watch, version=dorm_version())


def tables(results: Results) -> str:
    """Return all tables in Markdown."""
    groups = groups_of(results)
    parts = [
        f"<!-- tests.bench.evaluation: {results.trace}, {len(groups[0].runs)} seeds -->",
        "### Next to the paper",
        claims_table(groups),
        *reasons.tables(results, groups, DRAWN[2:]),
        "### All figures",
        markdown_table(results, headline=False),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def claims_table(groups: Sequence[Group]) -> str:
    """Return the paper's figures beside ours: mean of the seeds, lowest and highest."""
    rivals = [group for group in groups if not group.is_baseline]
    rows = [
        [claim.name, claim.paper, *(_told(claim, values(claim, group)) for group in rivals)]
        for claim in CLAIMS
    ]
    return markdown(["", "paper", *(group.label for group in rivals)], rows)


def values(claim: Claim, group: Group) -> Mapping[int, float]:
    """Return a figure by seed, for the seeds that the baseline has, too."""
    return {
        run.seed: claim.of(run.summary, group.rivals[run.seed].summary)
        for run in group.runs
        if run.seed in group.rivals
    }


def pictures(results: Results) -> Mapping[str, bytes]:
    """Return the plots as PNG by name: a few policies, for more would hide each other."""
    shown = attrs.evolve(results, runs=tuple(run for run in results.runs if run.label in DRAWN))
    plots = [plot for part in sections_of(shown, groups_of(shown)) for plot in part.plots]
    chosen = [
        plot for plot in plots if plot.name in PLOTS or plot.title.endswith((BASELINE, DRAWN[-1]))
    ]
    return {plot.name: to_png(plot.draw(LIGHT)) for plot in chosen}


def write(results: Results, directory: Path) -> None:
    """Write tables and plots."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tables.md").write_text(tables(results), encoding="utf-8")
    for name, png in pictures(results).items():
        (directory / f"{name}.png").write_bytes(png)


def _told(claim: Claim, found: Mapping[int, float]) -> str:
    if not found:
        return ""
    mean = claim.form.format(math.fsum(found.values()) / len(found))
    low, high = claim.form.format(min(found.values())), claim.form.format(max(found.values()))
    return mean if low == high else f"{mean} ({low} to {high})"


def _ratio(one: float, other: float) -> float:
    return one / other if other > 0 else 0.0


def _watch(orders: Sequence[Order]) -> Callable[[int, float, int], None]:
    def tell(index: int, at_s: float, done: int) -> None:
        order = orders[index]
        if done == len(order.jobs):
            name = f"{order.settings.label}, seed {order.settings.seed}"
            sys.stderr.write(f"{name}: {at_s / 3600:.1f} h of virtual time\n")

    return tell


def main() -> None:
    """Run, or read what was run before, and write it."""
    parser = argparse.ArgumentParser(description="The paper's evaluation, run again.")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=0, help="runs at a time; 0 for all cores")
    parser.add_argument("--trace", choices=WORKLOADS, default="paper")
    parser.add_argument("--only", action="append", help="one policy, beside the baseline")
    parser.add_argument("--out", type=Path, default=Path("docs/evaluation"))
    parser.add_argument("--save", type=Path, help="keep the results as JSON")
    parser.add_argument("--load", type=Path, help="take saved results instead of running")
    options = parser.parse_args()
    if options.load:
        results = from_json(options.load.read_bytes())
    else:
        labels = (BASELINE, *options.only) if options.only else LABELS
        results = evaluate(
            seeds=options.seeds, cores=options.cores, trace=options.trace, labels=labels
        )
    if options.save:
        options.save.write_bytes(to_json(results))
    write(results, options.out)
    sys.stdout.write(tables(results))


if __name__ == "__main__":
    main()
