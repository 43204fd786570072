"""The command `dorm`: the group; each family of commands has a file of its own."""

import functools
from typing import Final

import click

import dorm.cli.admin_space  # noqa: F401 - adds its command to `admin`
from dorm.cli.admin import admin
from dorm.cli.apps import cancel, change, ps, retry, show, why
from dorm.cli.daemons import agent, master
from dorm.cli.dev import dev
from dorm.cli.doctor import doctor
from dorm.cli.feed import events
from dorm.cli.logs import logs
from dorm.cli.nodes import forget, nodes
from dorm.cli.policy import policy
from dorm.cli.session import masters_option
from dorm.cli.simulate import simulate
from dorm.cli.status import status
from dorm.cli.submit import submit
from dorm.cli.version import show_version, version

COMMANDS: Final = (
    *(submit, ps, show, why, logs, change, cancel, retry),
    *(nodes, forget, status, events, policy, doctor),
    *(simulate, dev, master, agent, admin, version),
)


class InOrder(click.Group):
    """Lists its commands in the order in which a newcomer meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as they were added."""
        del ctx
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Print the version and exit.",
)
@functools.partial(masters_option, envvar="DORM_MASTERS")
def cli(masters: str | None) -> None:
    """Share one cluster of GPU and CPU machines between elastic training applications.

    \b
    Try it on this machine, in two terminals:
      dorm dev                      a small cluster, until Ctrl-C
      dorm submit app.yaml          run an application on it
      dorm ps -w                    watch it grow and shrink
      dorm why APP                  why it waits, or has the size it has

    Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 not found, 4 conflict, 5 nothing
    answers, 130 interrupted by Ctrl-C.
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    del masters  # Read by the commands, from the root's parameters.


for _command in COMMANDS:
    cli.add_command(_command)
