"""`dorm version`."""

import platform

import click

from dorm.cli.output import Output, pairs
from dorm.cli.session import output_option
from dorm.version import dorm_version


def show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's own
    """Print the version for `dorm --version`, and end."""
    if value:
        click.echo(f"dorm {dorm_version()}")
        ctx.exit()


@click.command()
@output_option
def version(output: str) -> None:
    """Print the versions of Dorm and Python.

    \b
    Example:
      dorm version -o json
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    versions = {"dorm": dorm_version(), "python": platform.python_version()}
    out = Output(as_json=output == "json")
    if out.as_json:
        out.json(versions)
    else:
        out.print(pairs(versions.items()))
