"""Everything that reads bytes which a stranger, a full disk or a newer Dorm may have written.

A target takes bytes and returns; only errors of `events.errors` may stand in its way, and it
swallows those. To fuzz another reader, add a function to `TARGETS` and a folder to `corpus`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from dorm.agent.checkpoints import read_step
from dorm.agent.memory import Remembered
from dorm.spec import from_json_text, from_plain, from_yaml, render, to_plain
from events.apps import AppSpec
from events.codec import decode, encode, from_json, to_json
from events.errors import Corrupt, Rejected
from events.fold import fold
from events.snapshot import dump, restore
from events.story import sentence
from reconcilers.documents import NodeDocument

CORPUS: Final = Path(__file__).parent / "corpus"

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
    step = read_step(raw)
    assert step is None or isinstance(step, int)


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
    "document": document,
    "memory": memory,
}


def seeds(name: str) -> dict[str, bytes]:
    """Return the corpus of a target, by file name."""
    return {path.name: path.read_bytes() for path in sorted((CORPUS / name).iterdir())}


def _spec(read: Callable[[bytes], AppSpec], raw: bytes) -> None:
    try:
        spec = read(raw)
    except Rejected as error:
        assert str(error).isprintable(), "a terminal would obey it"
        return
    assert from_yaml(render(spec)) == spec
    assert from_plain(to_plain(spec)) == spec
    assert from_json(to_json(spec), AppSpec) == spec


def _document(kind: type, raw: bytes) -> None:
    try:
        value = from_json(raw, kind)
    except Corrupt:
        return
    assert from_json(to_json(value), kind) == value
