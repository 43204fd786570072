"""`dorm status`."""

from typing import Any, Final

import click

from dorm.cli.output import pairs
from dorm.cli.session import Session, talks_to_masters
from events.text import memory

WAY_OUT = "Way out: dorm admin new-epoch explains, and asks"
_MEANINGS: Final = {
    "filling": "the masters archive and compact harder",
    "no_submits": "NO NEW APPLICATIONS are accepted",
    "only_endings": "ONLY CANCELS AND REPORTS are accepted",
    "full": "NOTHING IS ACCEPTED until an operator runs dorm admin reclaim",
}


@click.command()
@talks_to_masters
def status(session: Session) -> None:
    """Show the cluster at a glance: leader, log, room, applications by phase.

    \b
    Example:
      dorm status
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    answer = session.client.status()
    if session.out.as_json:
        session.out.json(answer)
        return
    nodes, used, total = answer["nodes"], answer["used"], answer["total"]
    leads = "itself" if answer["is_leader"] else answer["leader"] or "nobody yet"
    session.out.print(
        pairs(
            [
                ("Master", f"{answer['master']}, led by {leads}"),
                ("Store", _store(answer)),
                ("Log", f"revision {answer['revision']}{_stale(answer)}"),
                ("Room", _room(answer["space"])),
                ("State", answer["state_hash"][:16]),
                ("Nodes", f"{nodes['ready']} ready, {nodes['lost']} lost"),
                ("Cpus", f"{used['cpu_milli'] / 1000:g} of {total['cpu_milli'] / 1000:g} used"),
                (
                    "Memory",
                    f"{memory(used['memory_bytes'])} of {memory(total['memory_bytes'])} used",
                ),
                ("Gpus", f"{used['gpu_count']} of {total['gpu_count']} used"),
                ("Apps", _apps(answer["apps"])),
            ]
        )
    )


def _store(answer: dict[str, Any]) -> str:
    """Return the epoch, and what is wrong with it: an operator has to do something then."""
    epoch = f"epoch {answer['store_epoch']}"
    if answer["hold"]:
        lines = [f"{one['witness']}: {one['reason']}" for one in answer["alarms"]]
        alarms = "\n".join(lines or [answer["hold"]])
        return f"{epoch}, HELD: nothing is started, stopped or accepted\n{alarms}\n{WAY_OUT}"
    if answer["unsettled"]:
        return f"{epoch}, waits for {' '.join(answer['unsettled'])} to enter it"
    return epoch


def _stale(answer: dict[str, Any]) -> str:
    return "" if answer["healthy"] else ", STALE: this master does not hear from etcd"


def _room(space: dict[str, Any]) -> str:
    meaning = _MEANINGS.get(space["level"], "")
    return f"{space['text']}{meaning and f': {meaning}'}"


def _apps(apps: dict[str, int]) -> str:
    return ", ".join(f"{count} {phase}" for phase, count in apps.items()) or "none"
