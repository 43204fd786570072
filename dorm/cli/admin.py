"""`dorm admin`: what an operator does to the store itself, seldom and with care."""

import click


@click.group()
def admin() -> None:
    """Repair and vouch: commands for the operator of a cluster, not for its users.

    Each of them says first what it will do, and asks, unless --yes is given.

    \b
    Example:
      dorm admin reclaim --archive /srv/dorm-archive    make room in a full etcd
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
