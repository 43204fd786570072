"""Everything that reads bytes which a stranger, a full disk or a newer Dorm may have written.

A target takes bytes and returns; only errors of `events.errors` may stand in its way, and it
swallows those. To fuzz another reader, add a function to `TARGETS` and a folder to `corpus`.
"""

from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeVar

from dorm.agent.memory import Remembered
from dorm.agent.paths import Paths
from dorm.agent.progress import read_all
from dorm.checkpoints import manifest
from dorm.config import AgentConfig, ClusterConfig, MountSource
from dorm.spec import SpecFaults, from_json_text, from_plain, from_yaml, render, to_plain
from dorm.status import NodeStatus
from events.apps import AppSpec, Mount
from events.checkpoints import CheckpointSaved
from events.codec import decode, encode, from_json, to_json
from events.errors import Corrupt, Rejected
from events.fold import fold
from events.snapshot import dump, restore
from events.story import sentence
from events.units import Resources
from reconcilers.documents import NodeDocument
from tests.agent.desk import wanted
from tests.checkpoint_builders import checkpoint_saved
from tests.simulation.files import Disk, SimFiles
from tests.simulation.process import Process

CORPUS: Final = Path(__file__).parent / "corpus"
GOLDEN: Final = Path(__file__).parents[1] / "golden"
WANTED: Final = wanted(mounts=(Mount(name="shared", target="/data"),), checkpoint_path="/data/a")
CONFIG: Final = AgentConfig(
    node_id="n1",
    cluster=ClusterConfig(),
    capacity=Resources(cpu_milli=1, memory_bytes=1),
    mounts={"shared": MountSource(path="/srv")},
)

T = TypeVar("T")

Target = Callable[[bytes], None]


def event(raw: bytes) -> None:
    """An event of the log: what decodes can be told, folded, and written back to the same event."""
    try:
        recorded = decode(raw, revision=7, segment=0)
    except Corrupt:
        return
    assert sentence(recorded).isprintable(), "a terminal would obey it"
    assert decode(encode(recorded), revision=7, segment=0) == recorded
    state = fold((recorded,))
    assert dump(restore(dump(state))) == dump(state)


def spec_yaml(raw: bytes) -> None:
    """A spec in YAML: what is accepted can be written out, and read again to the same spec."""
    _spec(from_yaml, raw)


def spec_json(raw: bytes) -> None:
    """The same in JSON."""
    _spec(from_json_text, raw)


def checkpoint(raw: bytes) -> None:
    """The `checkpoint.json` of a training: a step that an event can hold, or none."""
    try:
        word = manifest.read_word(raw)
    except Corrupt:
        return
    saved = checkpoint_saved(step=word.step)
    assert from_json(to_json(saved), CheckpointSaved) == saved


def manifest_of_kept(raw: bytes) -> None:
    """The manifest of a kept checkpoint: no path in it leads out of its directory."""
    try:
        found = manifest.read(raw)
    except Corrupt:
        return
    assert manifest.read(manifest.write(found)) == found
    paths = [PurePosixPath(entry.path) for entry in found.files]
    paths += [PurePosixPath(entry.path) for entry in found.directories]
    paths += [PurePosixPath(entry.path) for entry in found.links]
    assert not any(path.is_absolute() or ".." in path.parts for path in paths)


def progress(raw: bytes) -> None:
    """The `progress.json` of a training: figures that a status can hold, or none."""
    orders = NodeDocument(node_id="n1", revision=1, containers=(WANTED,))
    found = _run(read_all(_OneFile(raw), Paths("/state"), orders))
    status = NodeStatus(node_id="n1", incarnation="i", progress=found)
    assert from_json(to_json(status), NodeStatus) == status


def document(raw: bytes) -> None:
    """The orders of a node."""
    _document(NodeDocument, raw)


def memory(raw: bytes) -> None:
    """What an agent remembers."""
    _document(Remembered, raw)


TARGETS: Final[Mapping[str, Target]] = {
    "event": event,
    "spec_yaml": spec_yaml,
    "spec_json": spec_json,
    "checkpoint": checkpoint,
    "manifest": manifest_of_kept,
    "progress": progress,
    "document": document,
    "memory": memory,
}


FOLDERS: Final[Mapping[str, tuple[Path, ...]]] = {
    name: (CORPUS / name, *((GOLDEN,) if name == "event" else ())) for name in TARGETS
}
"""Where the seeds of each target lie; every event that was ever stored is one."""


def seeds(name: str) -> tuple[Path, ...]:
    """Return the files that a target begins with."""
    return tuple(
        path
        for folder in FOLDERS[name]
        for path in sorted(folder.iterdir())
        if path.suffix not in {".py", ".pyc"} and path.is_file()
    )


class _OneFile(SimFiles):
    """A disk on which every file has the same content."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(Disk({}), Process("fuzz", 0))
        self._raw = raw

    async def read(self, path: str) -> bytes | None:
        """See `Files`."""
        del path
        return self._raw


def _run(reading: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that waits for nothing."""
    try:
        reading.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise AssertionError("it waits for something")


def _spec(read: Callable[[bytes], AppSpec], raw: bytes) -> None:
    faults: tuple[Rejected, ...] = ()
    spec = None
    try:
        spec = read(raw)
    except SpecFaults as error:
        faults = error.faults
    assert all(str(fault).isprintable() for fault in faults), "a terminal would obey it"
    if spec is None:
        return
    assert from_yaml(render(spec)) == spec
    assert from_plain(to_plain(spec)) == spec
    assert from_json(to_json(spec), AppSpec) == spec


def _document(kind: type, raw: bytes) -> None:
    try:
        value: Any = from_json(raw, kind)
    except Corrupt:
        return
    assert from_json(to_json(value), kind) == value
