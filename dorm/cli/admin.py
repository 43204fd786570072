"""`dorm admin`: what an operator does to the store itself, seldom and with care."""

from typing import Any

import click

from dorm.cli.session import Session, talks_to_masters

WHAT_WILL_HAPPEN = """\
The store goes from epoch {epoch} to the next one: you vouch that what it holds now is to be true.

  - What the log had gained since the backup stays lost: submits, decisions, reports.
  - Containers that the log knows go on running. All others are stopped as orphans,
    with SIGTERM and 10 s of grace: their work since their last checkpoint is lost.
  - Nothing new starts before every node has done so. For a machine that is off for good:
    dorm forget NODE.
  - Users submit again what is missing; dorm ps shows what is there.

It cannot be taken back."""


@click.group()
def admin() -> None:
    """Repair and vouch: commands for the operator of a cluster, not for its users.

    Each of them says first what it will do, and asks, unless --yes is given.

    \b
    Example:
      dorm admin new-epoch                              after a restore of etcd from a backup
      dorm admin reclaim --archive /srv/dorm-archive    make room in a full etcd
    """  # noqa: D301 - \b is click's mark for text that keeps its lines


@admin.command("new-epoch")
@click.option("--yes", is_flag=True, help="Do not ask.")
@talks_to_masters
def new_epoch(session: Session, *, yes: bool) -> None:
    """Vouch for a store that was restored from a backup, so that the cluster goes on with it.

    Agents and masters that had seen more than the restored store holds obey nothing of it, and
    raise an alarm (dorm status), until an operator says this.

    \b
    Examples:
      dorm status                   who raised the alarm, and why
      dorm admin new-epoch          tells what will happen, then asks
      dorm admin new-epoch --yes
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    status = session.client.status()
    if not yes:
        click.echo(_alarms(status), err=True)
        click.echo(WHAT_WILL_HAPPEN.format(epoch=status["store_epoch"]), err=True)
        click.confirm("Begin a new epoch?", abort=True, err=True)
    answer = session.client.new_epoch(after=status["store_epoch"])
    session.client.freshness = {}  # What was shown is of before.
    if session.out.as_json:
        session.out.json(answer)
    else:
        session.out.say(f"epoch {answer['epoch']} has begun; dorm status shows who is to follow")


def _alarms(status: dict[str, Any]) -> str:
    """Return who says what; without an alarm there is mostly no reason for a new epoch."""
    if not status["alarms"]:
        return (
            "No agent or master has raised an alarm. If the store was not restored from a backup,\n"
            "there is no need for a new epoch.\n"
        )
    lines = [f"  {one['witness']}: {one['reason']}" for one in status["alarms"]]
    return "\n".join(("Alarms:", *lines, ""))
