"""`dorm dev`."""

import click

from dorm.cli.session import in_plain_words
from dorm.spec.units import parse_memory


@click.command()
@click.option("--nodes", type=click.IntRange(1, 16), default=3, show_default=True, help="Nodes.")
@click.option("--cpus", type=float, default=2.0, show_default=True, help="Cpus of each node.")
@click.option("--memory", default="2GiB", show_default=True, help="Memory of each node.")
@click.option(
    "--fake-gpus", type=click.IntRange(0, 64), default=0, show_default=True, help="Per node."
)
@click.option("--masters", type=click.IntRange(1, 5), default=1, show_default=True, help="Masters.")
def dev(nodes: int, cpus: float, memory: str, fake_gpus: int, masters: int) -> None:
    """Run a small cluster on this machine, in the foreground, until Ctrl-C.

    Starts etcd, masters and agents; all nodes share this machine's Docker engine. Nothing of it
    stays when it ends.

    \b
    Examples:
      dorm dev
      dorm dev --nodes 4 --fake-gpus 8
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    # The daemons' imports take a second; the other commands do not wait for them.
    from dorm.local.dev import run_dev  # noqa: PLC0415

    with in_plain_words():
        code = run_dev(
            nodes=nodes,
            cpus=cpus,
            memory_bytes=parse_memory(memory, field="--memory"),
            fake_gpus=fake_gpus,
            masters=masters,
        )
    raise click.exceptions.Exit(code)
