"""Commands about applications: ps, show, why, set, cancel, retry."""

import time
from typing import Any, Final

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from dorm.cli.output import age, clock_time, pairs, table
from dorm.cli.session import Session, talks_to_masters, until_ctrl_c
from dorm.spec import from_plain, render
from events.errors import Unavailable
from events.text import duration

WATCH_S: Final = 1.0
_COLUMNS: Final = ("ID", "PHASE", "SIZE", "WEIGHT", "PRIO", "GEN", "STEP", "LOSS", "AGE", "USER")


@click.command()
@click.option("-a", "--all", "finished", is_flag=True, help="Finished applications too.")
@click.option("-w", "--watch", is_flag=True, help="Keep the list up to date until Ctrl-C.")
@talks_to_masters
def ps(session: Session, *, finished: bool, watch: bool) -> None:
    """List applications: phase, size, weight, progress.

    \b
    Examples:
      dorm ps -w
      dorm ps -a -o json
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    if watch and not session.out.as_json and session.out.console.is_terminal:
        _watch(session, finished=finished)
        return
    rows = session.client.apps(finished=finished)
    if session.out.as_json:
        session.out.json(rows)
    else:
        session.out.print(_table(rows))


def _watch(session: Session, *, finished: bool) -> None:
    with until_ctrl_c(), Live(console=session.out.console, auto_refresh=False) as live:
        while True:
            try:
                shown = _table(session.client.apps(finished=finished))
            except Unavailable as error:
                shown = Text(f"nothing answers: {error}", style="red")
            live.update(shown, refresh=True)
            time.sleep(WATCH_S)


def _table(rows: list[dict[str, Any]]) -> RenderableType:
    empty = "No applications. Submit one: dorm submit app.yaml (dorm submit -h shows a small one)"
    return table(_COLUMNS, [_row(app) for app in rows], empty=empty)


def _row(app: dict[str, Any]) -> tuple[object, ...]:
    progress = app["progress"] or {}
    return (
        app["id"],
        f"{app['phase']}, quarantined" if app["quarantine"] else app["phase"],
        f"{app['size']} ({app['min']}-{app['max']})",
        f"{app['weight']:g}",
        app["priority"],
        app["generation"],
        _steps(progress),
        _loss(progress),
        age(app["submitted_at_ms"]),
        _user(app),
    )


def _user(app: dict[str, Any]) -> str:
    return str(app["user"]).removeprefix("user/")


def _steps(progress: dict[str, Any]) -> str:
    total = f"/{progress['total']}" if progress.get("total") else ""
    return f"{progress['step']}{total}" if progress else ""


def _loss(progress: dict[str, Any]) -> str:
    return "" if progress.get("loss") is None else f"{progress['loss']:.4g}"


@click.command()
@click.argument("app")
@talks_to_masters
def show(session: Session, app: str) -> None:
    """Show everything about one application, and its spec.

    APP is an id, the beginning of one, or a name.

    \b
    Example:
      dorm show digits
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    page = session.client.app(app)
    if session.out.as_json:
        session.out.json(page)
        return
    containers = table(
        ("RANK", "NODE", "STATE", "DEVICES", "EXIT"),
        [_container(one) for one in page["containers"]],
        empty="No containers now.",
    )
    spec = Text(render(from_plain(page["spec"])).rstrip())
    session.out.print(
        Group(_facts(page), Text(), containers, Text(), Text("Spec", style="bold"), spec)
    )


def _facts(page: dict[str, Any]) -> RenderableType:
    outcome, stop, backoff = page["outcome"] or {}, page["stop"] or {}, page["backoff"] or {}
    share = f"weight {page['weight']:g}, priority {page['priority']}"
    return pairs(
        [
            ("Id", page["id"]),
            ("Phase", page["phase"]),
            ("Reason", outcome.get("reason") or backoff.get("reason") or stop.get("reason")),
            ("Containers", f"{page['size']} now, {page['granted']} granted"),
            ("Bounds", f"{page['min']} to {page['max']}, {share}"),
            ("Layout", page["decided_reason"]),
            ("Quarantine", page["quarantine"]),
            ("Restart", f"takes {duration(page['restart_ms'])}" if page["restart_ms"] else ""),
            ("Generation", f"{page['generation']}, resized {page['resizes']} times"),
            ("Progress", _progress(page)),
            ("Checkpoints", _kept(page)),
            ("Failures", page["failures"] or ""),
            ("Submitted", f"{clock_time(page['submitted_at_ms'])} by {_user(page)}"),
            ("Ended", clock_time(outcome["at_ms"]) if outcome else ""),
        ]
    )


def _progress(page: dict[str, Any]) -> str:
    progress = page["progress"] or {}
    step, loss, saved = _steps(progress), _loss(progress), page["checkpoint_step"]
    parts = (
        f"step {step}" if step else "",
        f"loss {loss}" if loss else "",
        "" if saved is None else f"saved at step {saved}",
    )
    return ", ".join(part for part in parts if part)


def _kept(page: dict[str, Any]) -> str:
    return ", ".join(
        f"g{one['generation']} step {one['step']}"
        + (f" (damaged: {one['rejected']})" if one["rejected"] else "")
        for one in page["checkpoints"]
    )


def _container(one: dict[str, Any]) -> tuple[object, ...]:
    ended = one["exit"] or {}
    code = "" if ended.get("exit_code") is None else f" {ended['exit_code']}"
    return (
        one["rank"],
        one["node"],
        one["state"],
        " ".join(one["devices"]),
        (f"{ended['reason']}{code}" if ended else ""),
    )


@click.command()
@click.argument("app")
@talks_to_masters
def why(session: Session, app: str) -> None:
    """Tell why an application waits, or has the size it has, and what would help.

    \b
    Example:
      dorm why digits
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    reason = session.client.why(app)
    if session.out.as_json:
        session.out.json(reason)
        return
    session.out.say(f"{reason['id']} {reason['message']}")
    for name, held in sorted(reason.get("held", {}).items()):
        session.out.say(f"{name} cannot be made yet: {held}")
    if reason["hint"]:
        session.out.say(f"What would help: {reason['hint']}")


@click.command("set")
@click.argument("app")
@click.option("--weight", type=float, help="Share of the cluster relative to the others.")
@click.option("--min", "low", type=int, help="Fewest containers.")
@click.option("--max", "high", type=int, help="Most containers.")
@click.option("--priority", type=int, help="A higher one may take everything from a lower one.")
@talks_to_masters
def change(
    session: Session,
    app: str,
    *,
    weight: float | None,
    low: int | None,
    high: int | None,
    priority: int | None,
) -> None:
    """Change the weight, bounds or priority of an application that is not finished.

    \b
    Examples:
      dorm set digits --weight 2
      dorm set digits --min 2 --max 8
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    wanted = {"weight": weight, "min": low, "max": high, "priority": priority}
    given = {name: value for name, value in wanted.items() if value is not None}
    if not given:
        raise click.UsageError("nothing to set: give --weight, --min, --max or --priority")
    page = session.client.change(app, given)
    if session.out.as_json:
        session.out.json(page)
    else:
        bounds = f"{page['min']} to {page['max']} containers"
        share = f"weight {page['weight']:g}, priority {page['priority']}"
        session.out.say(f"{page['id']} may have {bounds}, {share}")


@click.command()
@click.argument("app")
@talks_to_masters
def cancel(session: Session, app: str) -> None:
    """End an application. Its containers are stopped first, and get their grace time.

    \b
    Example:
      dorm cancel digits-x7k2p
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    page = session.client.cancel(app)
    if session.out.as_json:
        session.out.json(page)
    else:
        session.out.say(f"{page['id']} is {page['phase']}")


@click.command()
@click.argument("app")
@talks_to_masters
def retry(session: Session, app: str) -> None:
    """Decide layouts with a quarantined application again.

    A layout could not be decided with it, so it was left out and keeps what it has; `dorm why`
    tells what happened. Changing it with `dorm set` ends the quarantine too.

    \b
    Example:
      dorm retry digits
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    page = session.client.retry(app)
    if session.out.as_json:
        session.out.json(page)
    else:
        session.out.say(f"{page['id']} takes part in layouts again")
