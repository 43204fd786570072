"""Commands about nodes: nodes, forget."""

import click

from dorm.cli.output import table
from dorm.cli.session import Session, talks_to_masters
from events.text import memory


@click.command()
@talks_to_masters
def nodes(session: Session) -> None:
    """List the machines: what each has, what is used, what runs there.

    \b
    Example:
      dorm nodes -o json
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    rows = session.client.nodes()
    if session.out.as_json:
        session.out.json(rows)
        return
    shown = [
        (
            node["id"],
            node["state"],
            _share(node, "cpu_milli", 1000),
            f"{memory(node['used']['memory_bytes'])} / {memory(node['capacity']['memory_bytes'])}",
            _share(node, "gpu_count", 1),
            node["containers"],
            " ".join(f"{name}={value}" for name, value in sorted(node["labels"].items())),
        )
        for node in rows
    ]
    columns = ("NODE", "STATE", "CPUS", "MEMORY", "GPUS", "CONTAINERS", "LABELS")
    session.out.print(table(columns, shown, empty="No nodes. Start one: dorm agent -h tells how"))
    for node in rows:
        for name, held in sorted(node.get("held", {}).items()):
            session.out.say(f"{node['id']} cannot make {name} yet: {held}")


def _share(node: dict[str, dict[str, int]], name: str, unit: int) -> str:
    return f"{node['used'][name] / unit:g} / {node['capacity'][name] / unit:g}"


@click.command()
@click.argument("node")
@talks_to_masters
def forget(session: Session, node: str) -> None:
    """Vouch that a lost machine is off for good, so that its containers count as gone.

    Only for a machine that `dorm nodes` calls fenced; or lost, where it cannot be fenced (see
    dorm agent --fencing) and you know that it is off: containers that still ran there would run
    twice. What ran on a fenced node goes on elsewhere by itself; this only drops its name.

    \b
    Example:
      dorm forget n3
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    answer = session.client.forget(node)
    if session.out.as_json:
        session.out.json(answer)
    else:
        session.out.say(f"{node} is forgotten; what ran there counts as gone")
