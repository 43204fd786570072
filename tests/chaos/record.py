"""The record of a run, read back."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs

from dorm.history.files import cluster_of, read_file
from events.apps import AppSubmitted
from events.generations import GenerationStarted
from events.recorded import Recorded
from reconcilers.documents import container_name
from tests.chaos import journal
from tests.chaos.journal import Line

HISTORY: Final = "history.jsonl.zst"
WITNESS: Final = "witness"
RECORD: Final = "record"

Key = tuple[str, int, int]
"""A container: application, generation, rank."""


@attrs.frozen(kw_only=True)
class Diary:
    """What one process of one container wrote down of itself, in order; never empty."""

    key: Key
    lines: tuple[Line, ...]

    @property
    def app_id(self) -> str:
        """Return the application."""
        return self.key[0]

    @property
    def generation(self) -> int:
        """Return the generation."""
        return self.key[1]

    @property
    def first_s(self) -> float:
        """Return the first moment at which it ran."""
        return float(self.lines[0]["at"])

    @property
    def last_s(self) -> float:
        """Return the last moment at which it ran."""
        return float(self.lines[-1]["at"])

    def steps(self, what: str) -> list[int]:
        """Return the steps of its lines of that kind."""
        return [int(line["step"]) for line in self.lines if line["what"] == what]


@attrs.frozen(kw_only=True, slots=False)  # cached properties need a __dict__
class Record:
    """Everything that was written down.

    Attributes:
        history: The log, as `dorm-events export` wrote it.
        diaries: Of every process that ran in a container.
        writes, docker, cgroups, permits, users, faults, end: See `tests.chaos.observer`, and
            whoever else writes them.
    """

    cluster: str
    history: tuple[Recorded, ...]
    diaries: tuple[Diary, ...] = ()
    writes: tuple[Line, ...] = ()
    docker: tuple[Line, ...] = ()
    cgroups: tuple[Line, ...] = ()
    permits: tuple[Line, ...] = ()
    users: tuple[Line, ...] = ()
    faults: tuple[Line, ...] = ()
    end: tuple[Line, ...] = ()

    @cached_property
    def submits(self) -> tuple[AppSubmitted, ...]:
        """Return every submit in the log."""
        events = (recorded.event for recorded in self.history)
        return tuple(event for event in events if isinstance(event, AppSubmitted))

    @cached_property
    def members(self) -> Mapping[Key, str]:
        """Return the node of every container that was ever granted."""
        return {
            (event.app_id, event.generation, member.rank): member.node_id
            for event in (recorded.event for recorded in self.history)
            if isinstance(event, GenerationStarted)
            for member in event.members
        }

    @cached_property
    def keys_by_id(self) -> Mapping[str, Key]:
        """Return which container an engine's id stands for."""
        by_name = {container_name(*key): key for key in self.members}
        return {
            line["id"]: by_name[line["name"]] for line in self.docker if line["name"] in by_name
        }


def load(folder: Path) -> Record:
    """Read the record of a run.

    Raises:
        Corrupt: The exported history is damaged.
    """

    def part(name: str) -> tuple[Line, ...]:
        return tuple(journal.read(folder / f"{name}.jsonl"))

    history = str(folder / HISTORY)
    return Record(
        cluster=cluster_of(history),
        history=tuple(read_file(history)),
        diaries=tuple(read_diaries(folder / WITNESS)),
        writes=part(journal.ETCD),
        docker=part(journal.DOCKER),
        cgroups=part(journal.CGROUPS),
        permits=part(journal.PERMITS),
        users=part(journal.USERS),
        faults=part(journal.FAULTS),
        end=part(journal.END),
    )


def read_diaries(folder: Path) -> list[Diary]:
    """Return the diaries in the order in which they were begun."""
    found = []
    for path in folder.glob("*/g*-w*.jsonl"):
        generation, rank, _ = path.stem.split("-")
        lines = tuple(journal.read(path))
        if lines:
            key = path.parent.name, int(generation[1:]), int(rank[1:])
            found.append(Diary(key=key, lines=lines))
    return sorted(found, key=lambda diary: (diary.first_s, diary.key))
