"""Golden files: every wire version that ever was written can be read for ever."""

from pathlib import Path

import pytest

from events.apps import AppSubmitted
from events.catalog import CATALOG, KIND_OF
from events.codec import decode, encode
from events.errors import Corrupt
from events.generations import ContainerExited
from events.layouts import LayoutDecided
from tests.golden.write import EXAMPLES, GOLDEN, path_of, write_missing

FILES = sorted(GOLDEN.glob("*.json"))


def read(path: Path) -> bytes:
    """Return the stored event of a golden file."""
    return path.read_bytes().removesuffix(b"\n")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_event_is_read_and_written_as_the_same_bytes(path: Path) -> None:
    """A class that writes other bytes under the same wire name would break the audit chain."""
    raw = read(path)

    assert raw == encode(decode(raw, revision=1, segment=0))


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: KIND_OF[type(event)])
def test_a_golden_event_still_means_what_it_meant(event: object) -> None:
    """Reading is not enough: every field must arrive where it was."""
    raw = read(path_of(KIND_OF[type(event)]))  # type: ignore[index]  # every example is an event

    assert event == decode(raw, revision=1, segment=0).event


def test_what_was_written_before_a_field_was_added_has_its_default() -> None:
    """The absence of the field meant that; histories of years must mean the same for ever."""
    submitted, decided, exited = (
        decode(read(GOLDEN / name), revision=1, segment=0).event
        for name in ("app.submitted.1.json", "layout.decided.1.json", "container.exited.1.json")
    )

    assert isinstance(submitted, AppSubmitted)
    assert isinstance(decided, LayoutDecided)
    assert (0, ()) == (submitted.spec.priority, submitted.spec.speed)
    assert 2 == submitted.spec.checkpoint.keep
    assert ("", None) == (decided.problem_hash, decided.quality)
    assert isinstance(exited, ContainerExited)
    assert not exited.final


def test_every_kind_has_a_golden_file() -> None:
    """`python -m tests.golden.write` makes the missing ones."""
    assert [] == [kind for kind in CATALOG if not path_of(kind).exists()]


def test_writing_never_touches_an_old_file(tmp_path: Path) -> None:
    """A golden file that can be rewritten protects nothing."""
    old = path_of("node.lost/1", tmp_path)
    old.write_text("as it was")

    written = write_missing(tmp_path)

    assert "as it was" == old.read_text()
    assert set(CATALOG) - {"node.lost/1"} == set(written)
    assert () == write_missing(tmp_path)


def test_a_damaged_golden_event_would_be_seen() -> None:
    """So that the tests above cannot pass by reading nothing."""
    raw = read(path_of("app.submitted/4")).replace(b'"image"', b'"imago"')

    with pytest.raises(Corrupt, match="image"):
        decode(raw, revision=1, segment=0)
