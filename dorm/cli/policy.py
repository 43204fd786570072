"""`dorm policy`: by which rules layouts are decided, and how good the newest one is."""

from collections.abc import Callable
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.text import Text

from dorm.cli.output import clock_time, pairs
from dorm.cli.session import Session, in_plain_words, talks_to_masters
from dorm.spec.units import parse_duration
from events.policy import POLICIES
from events.text import duration, plural

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@click.group(invoke_without_command=True)
@click.pass_context
def policy(context: click.Context) -> None:
    """Show or set the rules by which layouts are decided.

    \b
    Examples:
      dorm policy                   the same as dorm policy show
      dorm policy set goodput --loss-factor 0.2
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    if context.invoked_subcommand is None:
        context.invoke(show)


@policy.command()
@talks_to_masters
def show(session: Session) -> None:
    """Show the rules, and how good the newest layout is.

    \b
    Example:
      dorm policy show -o json
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    _print(session, session.client.policy())


def _milliseconds(_: click.Context, option: click.Parameter, value: str | None) -> int | None:
    """Return a span of time that is written as in a spec, such as `10m`."""
    if value is None:
        return None
    with in_plain_words():
        return parse_duration(value, field=option.opts[0], least=0)


def duration_option(name: str, field: str, *, help_: str) -> Decorator:
    """Add an option that takes a span of time."""
    return click.option(name, field, metavar="TIME", callback=_milliseconds, help=help_)


@policy.command("set")
@click.argument("policy", required=False, type=click.Choice(POLICIES))
@click.option("--loss-factor", type=float, help="How unfair a layout may be, from 0 to 1.")
@click.option("--touch-factor", type=float, help="Part of the running apps it may disturb, 0 to 1.")
@click.option("--shortfall-price", type=float, help="What an app below its fair share costs.")
@duration_option("--horizon", "horizon_ms", help_="When a restart has to have paid.")
@duration_option("--min-run", "min_run_ms", help_="How long a changed app rests.")
@duration_option("--gang-wait", "gang_wait_ms", help_="Longest wait of a due gang.")
@click.option("--static-containers", type=int, help="Partition size of the policy static.")
@talks_to_masters
def set_rules(session: Session, **rules: object) -> None:
    """Set some of the rules; the others stay as they are. The next layout follows them.

    \b
    POLICY is one of
      goodput      what containers achieve, at a fair share (the usual one)
      utilization  what containers occupy, at a fair share
      drf          only the fair share
      static       fixed partitions, first come first served; for comparison
      two-level    offers one after the other; for comparison

    \b
    Examples:
      dorm policy set goodput --loss-factor 0.2
      dorm policy set --min-run 5m --touch-factor 0.05
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    given = {name: value for name, value in rules.items() if value is not None}
    if not given:
        raise click.UsageError("nothing to set: give a policy or an option, see -h")
    _print(session, session.client.set_policy(given))


def _print(session: Session, page: dict[str, Any]) -> None:
    if session.out.as_json:
        session.out.json(page)
    else:
        session.out.print(Group(_rules(page["rules"]), Text(), _decision(page)))


def _rules(rules: dict[str, Any]) -> RenderableType:
    return pairs(
        [
            ("Policy", rules["policy"]),
            ("Loss factor", f"{rules['loss_factor']:g}"),
            ("Touch factor", f"{rules['touch_factor']:g}"),
            ("Shortfall price", f"{rules['shortfall_price']:g}"),
            ("Horizon", duration(rules["horizon_ms"])),
            ("Minimum run", duration(rules["min_run_ms"])),
            ("Gang wait", duration(rules["gang_wait_ms"])),
            ("Static size", plural(rules["static_containers"], "container")),
        ]
    )


def _decision(page: dict[str, Any]) -> RenderableType:
    last = page["last_decision"]
    if last is None:
        return Text("No layout has been decided yet.")
    quality = last["quality"] or {}
    return pairs(
        [
            ("Newest layout", f"{last['decision_id']} by {last['policy']}"),
            ("Decided", f"{clock_time(last['at_ms'])}, {plural(last['changed'], 'change')}"),
            *(_quality(quality) if quality else [("Quality", "not recorded")]),
            ("Quarantined", " ".join(page["quarantined"])),
        ]
    )


def _quality(quality: dict[str, Any]) -> list[tuple[str, str]]:
    touched, most = len(quality["touched"]), quality["touches_max"]
    return [
        ("Worth", f"{quality['objective']:.4g}, at most {quality['bound']:.4g} is possible"),
        ("Gap", f"{quality['gap']:.2%}"),
        ("Fairness loss", f"{quality['loss']:.4g} of {quality['loss_bound']:.4g} allowed"),
        ("Disturbed", f"{plural(touched, 'running app')}, {most} allowed"),
        ("Released", " ".join(quality["released"])),
        ("Version", quality["version"]),
        ("Fallback", quality["fallback"]),
    ]
