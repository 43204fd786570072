"""The command `dorm-events`: the history, read without any master."""

import functools
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import attrs
import click

from dorm.cli import parts
from dorm.cli.final_state import final_state
from dorm.cli.output import Output
from dorm.cli.session import ETCD_HINT, EXIT_CONFLICT, fail, in_plain_words, until_ctrl_c
from dorm.history import replay as telling
from dorm.history.files import write_file
from dorm.history.source import EtcdSource, FileSource, Source
from dorm.history.verify import Report
from dorm.history.verify import verify as audit
from events.errors import Corrupt
from events.fold import apply
from events.recorded import Recorded
from events.snapshot import dump
from events.state import ClusterState
from events.text import one_line

EXIT_CORRUPT: Final = EXIT_CONFLICT


def _reads_history(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn `command(source, ...)` into a command with `--etcd`, `--archive` and `--file`."""

    @click.option("--file", "path", metavar="F", help="Read an exported file instead of etcd.")
    @click.option(
        "--archive",
        default="",
        envvar="DORM_ARCHIVE",
        metavar="DIR",
        help="Where the masters put what leaves etcd; read together with etcd, as one history.",
    )
    @click.option(
        "--etcd",
        default="127.0.0.1:2379",
        show_default=True,
        envvar="DORM_ETCD",
        metavar="H:P,H:P",
        help="Members of etcd.",
    )
    @click.option(
        "--cluster", default="dorm", show_default=True, envvar="DORM_CLUSTER", help="Whose history."
    )
    @functools.wraps(command)
    def wrapper(
        path: str | None, archive: str, etcd: str, cluster: str, **options: object
    ) -> object:
        with in_plain_words(no_answer_hint=ETCD_HINT):
            source: Source = (
                FileSource(path)
                if path
                else EtcdSource(
                    parts.endpoints(etcd), parts.name(cluster, option="--cluster"), archive
                )
            )
            try:
                return command(source, **options)
            except Corrupt as error:
                fail(f"the history is corrupt: {error}", EXIT_CORRUPT)

    return wrapper


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Read Dorm's history: tell it, replay it to any point, prove that it is whole.

    Needs no master: it reads etcd, or a file that `dorm-events export` wrote.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 the history is corrupt, 5 nothing
    answers, 130 interrupted by Ctrl-C.
    """


@cli.command()
@click.option("--until", type=click.IntRange(0), help="Stop behind this revision.")
@click.option("--at", metavar="TIME", help="Stop before the first event later than a time (UTC).")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["timeline", "state", "json"]),
    default="timeline",
    show_default=True,
    help="What happened and the final state; only that state; or all of it as JSON.",
)
@_reads_history
def replay(source: Source, *, until: int | None, at: str | None, output: str) -> None:
    """Add the history up, from its first event to its end or any point before.

    \b
    Examples:
      dorm-events replay --until 1200
      dorm-events replay --at 2026-05-04T12:30:00
      dorm-events replay --file history.jsonl.zst -o json | sha256sum
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    at_ms = _time(at) if at else None
    state = ClusterState()
    for recorded in telling.until(source.events(), revision=until, at_ms=at_ms):
        if output == "timeline":
            click.echo(one_line(telling.line(recorded)))
        state = apply(state, recorded)
    if output == "json":
        click.echo(dump(state))
        return
    out = Output(as_json=False)
    if output == "timeline":
        out.say("")
    out.print(final_state(state))


@cli.command()
@click.option("-n", "--lines", type=click.IntRange(0), default=20, show_default=True)
@click.option("-f", "--follow", is_flag=True, help="Print all, and go on until Ctrl-C.")
@_reads_history
def tail(source: Source, *, lines: int, follow: bool) -> None:
    """Print the newest events, and with -f each new one.

    \b
    Example:
      dorm-events tail -f
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    if follow:
        with until_ctrl_c():
            _print(source.events(follow=True))
    else:
        _print(telling.last(source.events(), lines))


@cli.command()
@click.argument("subject", metavar="APP|NODE")
@_reads_history
def story(source: Source, *, subject: str) -> None:
    """Print everything that happened to one application or node.

    \b
    Example:
      dorm-events story digits
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    _print(telling.story_of(source.events(), subject))


@cli.command()
@click.argument("target", metavar="FILE")
@_reads_history
def export(source: Source, *, target: str) -> None:
    """Write the history to FILE, compressed if its name ends in .zst.

    \b
    Example:
      dorm-events export history.jsonl.zst
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    count = write_file(target, source.events(), cluster=source.cluster)
    click.echo(f"{count} events of cluster {source.cluster} are in {target}")


@cli.command()
@click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@_reads_history
def verify(source: Source, *, output: str) -> None:
    """Prove that the history is whole and was decided as it says. Exit code 4 if it is not.

    Checks the hash chain of every producer, the seal of every segment, the invariants of the
    state after every event, and takes every layout decision again.

    \b
    Example:
      dorm-events verify --file history.jsonl.zst
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    report = audit(source.events())
    if output == "json":
        click.echo(json.dumps(attrs.asdict(report), indent=2, sort_keys=True))
    else:
        _print_report(report)
    if report.problems:
        raise click.exceptions.Exit(EXIT_CORRUPT)


def _print_report(report: Report) -> None:
    decided = ", ".join(f"{count} {verdict}" for verdict, count in report.verdicts.items())
    click.echo(f"{report.events} events through revision {report.through}")
    click.echo(f"layout decisions taken again: {decided or 'none'}")
    click.echo(f"segments sealed: {report.sealed_segment + 1}; newest seal {report.seal or 'none'}")
    click.echo(f"state {report.state_hash}")
    for note in report.notes:
        click.echo(one_line(f"note: {note}"))
    for problem in report.problems:
        click.echo(one_line(f"PROBLEM: {problem}"))
    count = len(report.problems)
    click.echo("the history is sound" if not count else f"the history has {count} problems")


def _print(history: Iterable[Recorded]) -> None:
    for recorded in history:
        click.echo(one_line(telling.line(recorded)))


def _time(text: str) -> int:
    """Return UTC epoch milliseconds; a time without a zone is in UTC."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--at {text}: write a time like 2026-05-04T12:30:00") from None
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(zoned.timestamp() * 1000)
