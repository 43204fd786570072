"""Judges a run from its record alone, after it is over.

    python -m tests.chaos.verdict FOLDER

| | what it demands |
|---|---|
| I1 | what a user was told is in the log once, and ends in one terminal event |
| I2 | one generation of an application runs at a time, a container never twice, gone is gone |
| I3 | a node is never given, and never runs, more than it has |
| I4 | a training never goes back behind a checkpoint that was complete |
| I5 | only the leader decides and writes documents; a document is the fold at its revision |
| I6 | the audit finds nothing, and every replay comes to the masters' own state |
| I9 | nothing runs for more than a moment after its node's right to run was over |
| L1 | in the end everything is done, nothing is left, and no process has ended by itself |
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from dorm.history.verify import verify
from dorm.keys import Keys
from dorm.log.leadership import LeaderRecord
from events.apps import (
    AppCancelled,
    AppCancelRequested,
    AppChanged,
    AppCompleted,
    AppFailed,
)
from events.codec import from_json
from events.fold import apply
from events.generations import GenerationStarted
from events.snapshot import state_hash
from events.state import ClusterState
from reconcilers import desired
from reconcilers.documents import NodeDocument
from tests.chaos import containers
from tests.chaos.journal import Line
from tests.chaos.record import HISTORY, Record, load

TERMINAL: Final = (AppCompleted, AppFailed, AppCancelled)
MOST_TOLD: Final = 12
_DORM_EVENTS: Final = "from dorm.cli.entry import dorm_events; dorm_events()"


def problems(record: Record) -> tuple[str, ...]:
    """Return a sentence for everything that is wrong; none for a sound run."""
    return tuple(sentence for check in CHECKS for sentence in check(record))


def acknowledged(record: Record) -> Iterator[str]:
    """I1: the log has what users were told, once."""
    logged = Counter(event.spec.name for event in record.submits)
    ids = {event.spec.name: event.app_id for event in record.submits}
    events = [recorded.event for recorded in record.history]
    changed = {event.app_id for event in events if isinstance(event, AppChanged)}
    cancelled = {event.app_id for event in events if isinstance(event, AppCancelRequested)}
    asked = {line["name"] for line in record.users if line["what"] == "asked"}
    for line in record.users:
        name, what, app_id = line["name"], line["what"], line.get("app_id")
        if what == "submitted" and (logged[name], ids.get(name)) != (1, app_id):
            yield f"I1 {name} was acknowledged as {app_id}, the log has it {logged[name]} times"
        if what == "changed" and app_id not in changed:
            yield f"I1 the change of {app_id} was acknowledged, and is not in the log"
        if what == "cancelled" and app_id not in cancelled:
            yield f"I1 the cancel of {app_id} was acknowledged, and is not in the log"
    for name, count in sorted(logged.items()):
        if name not in asked or count > 1:
            yield f"I1 {name} is in the log {count} times"


def one_end(record: Record) -> Iterator[str]:
    """I1: every application has exactly one terminal event."""
    ends = Counter(
        recorded.event.app_id for recorded in record.history if isinstance(recorded.event, TERMINAL)
    )
    for event in record.submits:
        if ends[event.app_id] != 1:
            yield f"I1 {event.app_id} has {ends[event.app_id]} terminal events"


def led(record: Record) -> Iterator[str]:
    """I5: masters decide, and documents are written, only while the leader key says so."""
    keys = Keys(record.cluster)
    actors = {recorded.revision: recorded.stamp.actor for recorded in record.history}
    states = _states(record)
    leader, position = "", dict[str, int]()
    for write in sorted(record.writes, key=lambda one: int(one.get("revision", 0))):
        if write["kind"] == "gap":
            yield f"I5 the writes through {write['through']} were compacted before they were seen"
            continue
        key, revision = write["key"], int(write["revision"])
        if key == keys.leader:
            put = write["kind"] == "put"
            leader = from_json(write["value"].encode(), LeaderRecord).master if put else ""
        elif key.startswith(keys.events):
            yield from _event(write, actors.get(revision, ""), leader)
        elif key.startswith(keys.desireds) and write["kind"] == "put":
            document = from_json(write["value"].encode(), NodeDocument)
            yield from _document(document, revision, leader, states)
            if document.revision < position.get(document.node_id, 0):
                yield f"I5 the document of {document.node_id} went back to {document.revision}"
            position[document.node_id] = document.revision


def _event(write: Line, actor: str, leader: str) -> Iterator[str]:
    role, _, name = actor.partition("/")
    key, revision = write["key"], write["revision"]
    if write["kind"] != "put" or write["version"] != 1:
        yield f"I5 {key} was {write['kind']} at {revision}, version {write['version']}"
    if role == "master" and name != leader:
        yield f"I5 {name} decided at {revision}, while {leader or 'nobody'} led"


def _document(
    document: NodeDocument, revision: int, leader: str, states: Mapping[int, ClusterState]
) -> Iterator[str]:
    node_id, state = document.node_id, states.get(document.revision)
    if not leader:
        yield f"I5 the document of {node_id} was written at {revision} without a leader"
    if state is None or desired.documents(state).get(node_id) != document:
        yield f"I5 {node_id}'s document at {revision} is no fold at {document.revision}"


def replayed(record: Record) -> Iterator[str]:
    """I6: the audit finds nothing; a fold of the log is what the masters had in hand."""
    report = verify(record.history)
    yield from (f"I6 {problem}" for problem in report.problems)
    states = _states(record)
    for line in record.end:
        if line["what"] == "status":
            state = states.get(line["revision"])
            if state is None or state_hash(state) != line["state_hash"]:
                yield f"I6 {line['master']} has another state at revision {line['revision']}"


def converged(record: Record) -> Iterator[str]:
    """L1: nothing is left to do, and nothing has gone by itself."""
    for line in record.end:
        if line["what"] == "missing":
            yield f"L1 {line['told']}"
    for line in record.faults:
        if line["what"] == "ended by itself":
            yield f"L1 {line['target']} ended by itself:\n{line['words']}"


def replays_equal(folder: Path) -> Iterator[str]:
    """I6: the command that a user has comes to the same bytes under another hash seed."""
    outputs = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", _DORM_EVENTS, "replay", "-o", "json"]
        done = subprocess.run(
            [*command, "--file", str(folder / HISTORY)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            yield f"I6 dorm-events replay ends with {done.returncode}: {done.stderr.strip()}"
        outputs.add(done.stdout)
    if len(outputs) > 1:
        yield "I6 dorm-events replay gives other bytes under another PYTHONHASHSEED"


def judge(folder: Path) -> tuple[str, ...]:
    """Return everything that is wrong with a run, from its folder."""
    return (*problems(load(folder)), *replays_equal(folder))


def summary(record: Record) -> str:
    """Return what the run was, for people."""
    kinds = Counter(line["kind"] for line in record.faults if line["what"] == "begins")
    moments = sum(len(diary.lines) for diary in record.diaries)
    generations = sum(isinstance(one.event, GenerationStarted) for one in record.history)
    ends = Counter(
        type(one.event).__name__.removeprefix("App").lower()
        for one in record.history
        if isinstance(one.event, TERMINAL)
    )
    leaders = sum(
        write.get("key") == Keys(record.cluster).leader and write["kind"] == "put"
        for write in record.writes
    )
    rows = {
        "faults": f"{sum(kinds.values())}: {_counted(kinds)}",
        "applications": f"{len(record.submits)}: {_counted(ends)}",
        "generations": generations,
        "containers that ran": len(record.diaries),
        "moments they wrote down": moments,
        "events": len(record.history),
        "writes to etcd seen": len(record.writes),
        "terms of leaders": leaders,
        "changes seen by the kernel": len(record.cgroups),
    }
    return "\n".join(f"{name:<28}{value}" for name, value in rows.items())


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def tell(found: tuple[str, ...]) -> str:
    """Return the verdict for people."""
    if not found:
        return "all invariants hold"
    more = [f"and {len(found) - MOST_TOLD} more"] if len(found) > MOST_TOLD else []
    return "\n".join((f"{len(found)} violations:", *found[:MOST_TOLD], *more))


def _states(record: Record) -> dict[int, ClusterState]:
    states = {0: ClusterState()}
    state = states[0]
    for recorded in record.history:
        state = states[recorded.revision] = apply(state, recorded)
    return states


CHECKS: Final[tuple[Callable[[Record], Iterator[str]], ...]] = (
    acknowledged,
    one_end,
    containers.one_generation,
    containers.one_generation_by_kernel,
    containers.never_twice,
    containers.gone_is_gone,
    containers.permitted,
    containers.capacity,
    containers.progress,
    led,
    replayed,
    converged,
)


def main() -> int:
    """Judge the folder that is named."""
    folder = Path(sys.argv[1])
    found = judge(folder)
    sys.stdout.write(f"{summary(load(folder))}\n{tell(found)}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
