"""`dorm admin reclaim`: make room in a full etcd."""

import asyncio
from pathlib import Path

import click

from dorm.cli import parts
from dorm.cli.admin import admin
from dorm.cli.session import ETCD_HINT, in_plain_words
from dorm.spec.units import parse_memory


@admin.command()
@click.option(
    "--etcd",
    default="127.0.0.1:2379",
    show_default=True,
    envvar="DORM_ETCD",
    metavar="H:P,H:P",
    help="Members of etcd; the others are found by them.",
)
@click.option("--cluster", default="dorm", show_default=True, envvar="DORM_CLUSTER")
@click.option(
    "--archive",
    default="",
    envvar="DORM_ARCHIVE",
    metavar="DIR",
    help="The directory that the masters have as --archive. Without it nothing of the log is "
    "deleted.",
)
@click.option(
    "--keep-events",
    type=click.IntRange(0),
    default=20_000,
    show_default=True,
    help="With --archive: as much history as stays in etcd.",
)
@click.option(
    "--etcd-quota",
    default="2GiB",
    show_default=True,
    help="What etcd was given with --quota-backend-bytes; etcd 3.6 tells it by itself.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def reclaim(
    *, etcd: str, cluster: str, archive: str, keep_events: int, etcd_quota: str, yes: bool
) -> None:
    """Make room in etcd: archive, delete, compact, defragment, take the alarm back.

    For the day on which etcd says "database space exceeded". Needs no master. Members are
    defragmented one after the other, the leader last; each serves nobody meanwhile (about a second
    for each 100 MiB). No history is lost: what is deleted from etcd was verified in the archive.

    \b
    Example:
      dorm admin reclaim --etcd 10.0.0.1:2379,10.0.0.2:2379 --archive /srv/dorm-archive
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from dorm.space import reclaim as room  # noqa: PLC0415 - clients need not load grpc

    with in_plain_words(no_answer_hint=ETCD_HINT):
        order = room.Order(
            endpoints=parts.endpoints(etcd),
            cluster=parts.name(cluster, option="--cluster"),
            archive=str(Path(archive).absolute()) if archive else "",
            keep_events=keep_events,
            quota_bytes=parse_memory(etcd_quota, field="--etcd-quota"),
        )
        if not yes:
            click.confirm(f"{_plan(order.archive, keep_events)} Go on?", abort=True)
        asyncio.run(room.reclaim(order, say=click.echo))


def _plan(archive: str, keep_events: int) -> str:
    log = (
        f"All but the newest {keep_events} events are archived in {archive} and deleted from etcd."
        if archive
        else "Nothing of the log is deleted, because no --archive is named."
    )
    return f"{log} Then every member is compacted and defragmented: each serves nobody meanwhile."
