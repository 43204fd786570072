"""What `dorm simulate` does with its options: simulate, save, show."""

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dorm.cli.output import Output
from dorm.simulate.clusters import amounts, read_cluster
from dorm.simulate.experiment import Experiment, Source, simulate
from dorm.simulate.report import terminal_table, write
from dorm.simulate.results import Results, to_json
from dorm.simulate.runs import Order
from dorm.simulate.settings import Delays, read_policy
from dorm.simulate.traces.elastic import read_elasticity
from dorm.version import dorm_version
from events.errors import Rejected
from events.text import duration, plural
from reconcilers.layout.snapshot import Options

RESULTS: Final = "results.json"
MTBF_MS_MIN: Final = 600_000  # the time between two checkpoints: below it, nothing gets done
SERIES: Final = ("apps", "moments", "decisions")  # of a run: for the report, not for a terminal


def carry_out(options: Mapping[str, Any]) -> None:
    """Simulate what the options say, and show what came out.

    Raises:
        Rejected: An option or the trace is bad, or the report cannot be written.
    """
    experiment = _experiment(options)
    with _progress() as bar:
        results = simulate(experiment, watch=functools.partial(_watch, bar), version=dorm_version())
    if options["out"]:
        _save(results, options["out"])
    _show(results, as_json=options["as_json"])


def _experiment(options: Mapping[str, Any]) -> Experiment:
    base = Options()
    labels = list(dict.fromkeys(options["policies"] or ("goodput",)))
    baseline = options["baseline"]
    if baseline and baseline not in labels:
        labels.append(baseline)
    container = options["container"]
    if 0 < options["node_mtbf"] < MTBF_MS_MIN:
        rule = "is below the 10 minutes between two checkpoints: no job would get anywhere"
        raise Rejected(rule, field="--node-mtbf", hint="give 10m or more, or 0 for no failures")
    return Experiment(
        source=Source(
            trace=options["trace"],
            workload=options["workload"],
            elasticity=read_elasticity(options["elastic"]),
            alpha=options["alpha"],
            container=amounts(container, field="--container") if container else None,
            spacing_s=options["spacing"] / 1000,
            limit=options["limit"],
        ),
        cluster=read_cluster(options["cluster"]),
        policies=[(label, read_policy(label, base)) for label in labels],
        seeds=tuple(dict.fromkeys(options["seeds"])),
        baseline=baseline,
        fidelity=options["fidelity"],
        speeds=options["speeds"],
        delays=Delays(
            restart_ms=options["restart"],
            spread=options["restart_spread"],
            round_ms=options["round_"],
            mtbf_ms=options["node_mtbf"],
            repair_ms=max(1, options["node_repair"]),
        ),
        cores=options["cores"],
    )


def _progress() -> Progress:
    """Return a bar for each run, on stderr; without a terminal nothing is drawn."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("jobs, {task.fields[at]}"),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )


def _watch(bar: Progress, orders: Sequence[Order]) -> Callable[[int, float, int], None]:
    several = len({order.settings.seed for order in orders}) > 1
    tasks = [
        bar.add_task(
            order.settings.label + (f", seed {order.settings.seed}" if several else ""),
            total=len(order.jobs),
            at="waits",
        )
        for order in orders
    ]

    def tell(index: int, at_s: float, done: int) -> None:
        bar.update(tasks[index], completed=done, at=f"{duration(round(at_s * 1000))} of trace")

    return tell


def _save(results: Results, directory: Path) -> None:
    page = write(results, directory)
    try:
        (directory / RESULTS).write_bytes(to_json(results))
    except OSError as error:
        rule = f"cannot be written: {error.strerror}"
        raise Rejected(rule, field="--out", value=str(directory)) from error
    click.echo(f"Report: {page}", err=True)


def _show(results: Results, *, as_json: bool) -> None:
    out = Output(as_json=as_json)
    if as_json:
        document = json.loads(to_json(results))
        for row in document["runs"]:
            for name in SERIES:
                del row[name]
        out.json(document)
        return
    jobs = len(results.runs[0].apps)
    out.say(f"{results.trace}: {plural(jobs, 'job')} on {results.cluster}")
    for note in results.notes:
        out.say(f"Note: {note}.")
    out.print(terminal_table(results))
