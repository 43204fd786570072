"""Checkpoints set apart: whole, apart, and nothing else."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from dorm.checkpoints import keeping, manifest
from events.codec import digest
from events.errors import Corrupt, Rejected, Unavailable
from tests.checkpoints.storage import Storage, content, seed_of

SECRET = b"root's own"


def test_a_kept_checkpoint_is_what_the_application_wrote(storage: Storage) -> None:
    """Every file, directory and link, with a hash of each, and of all of them."""
    storage.begin(1)
    (storage.work(1) / "shards").mkdir()
    (storage.work(1) / "latest").symlink_to("shards/rank-0")
    storage.train(1, 40, **{"shards__rank-0": b"zero", "shards__rank-1": b"one", "empty": b""})

    kept = storage.keep(1)

    assert kept is not None
    raw = (storage.saved(1, 40) / "manifest.json").read_bytes()
    assert kept.manifest_sha256 == digest(raw)
    read = manifest.read(raw)
    assert {
        "checkpoint.json": hashlib.sha256(b'{"step": 40}').hexdigest(),
        "empty": hashlib.sha256(b"").hexdigest(),
        "shards/rank-0": hashlib.sha256(b"zero").hexdigest(),
        "shards/rank-1": hashlib.sha256(b"one").hexdigest(),
    } == {file.path: file.sha256 for file in read.files}
    assert (4, 40) == (kept.file_count, kept.step)
    assert kept.size_bytes == sum(file.size_bytes for file in read.files)
    assert [("latest", "shards/rank-0")] == [(one.path, one.target) for one in read.links]
    assert b"one" == (storage.saved(1, 40) / "files/shards/rank-1").read_bytes()


def test_a_program_that_writes_over_its_file_does_not_reach_what_is_kept(
    storage: Storage,
) -> None:
    """Most programs save under one name again and again; a hard link would be overwritten too."""
    storage.begin(1)
    storage.train(1, 10)
    with (storage.work(1) / "model.npz").open("r+b") as held:
        assert storage.keep(1) is not None
        held.write(b"ruined")
    storage.train(1, 20)
    assert storage.keep(1) is not None

    assert b"weights at 10" == (storage.saved(1, 10) / "files/model.npz").read_bytes()
    assert b"weights at 20" == (storage.saved(1, 20) / "files/model.npz").read_bytes()


def test_only_what_is_listed_is_kept(storage: Storage) -> None:
    """So that the next checkpoint may be written while this one is copied."""
    storage.begin(1)
    storage.train(1, 10, **{"a__model": b"1", "a__next.tmp": b"half", "log": b"..."})
    storage.say(1, step=10, files=["a/model"])

    assert storage.keep(1) is not None

    assert {"a", "a/model", "checkpoint.json"} == set(content(storage.saved(1, 10) / "files"))


def test_of_a_list_the_word_may_speak_of_the_next_one_already(storage: Storage) -> None:
    """A training that saves faster than a copy takes would never be kept otherwise."""
    storage.begin(1)
    storage.train(1, 10, a=b"1", b=b"2")
    storage.say(1, step=10, files=["a", "b"])

    def go_on() -> None:
        (storage.work(1) / "c").write_bytes(b"3")
        storage.say(1, step=20, files=["b", "c"])

    kept = keeping.keep(storage.place, 1, unsaid=False, go_on=go_on)

    assert kept is not None
    assert kept.step == 10
    assert json.loads((storage.saved(1, 10) / "files/checkpoint.json").read_text())["step"] == 10
    assert storage.begin(2, seed_of(1, kept)) == ""


def test_nothing_is_kept_before_the_application_says_so(storage: Storage) -> None:
    """Half a checkpoint is none."""
    assert storage.keep(1) is None
    storage.begin(1)
    (storage.work(1) / "model.npz").write_bytes(b"half")
    assert storage.keep(1) is None


@pytest.mark.parametrize(
    "word",
    ["", "{", "[]", '{"step": -1}', '{"step": "7"}', '{"epoch": 3}', '{"step": 7, "files": 3}'],
)
def test_a_word_that_makes_no_sense_is_no_word(storage: Storage, word: str) -> None:
    """Such as one that was cut short: even at the end it is not taken for a whole checkpoint."""
    storage.begin(1)
    (storage.work(1) / "checkpoint.json").write_text(word)

    assert storage.keep(1, unsaid=True) is None


def test_an_application_without_a_word_is_kept_as_it_stands_when_asked(storage: Storage) -> None:
    """At its end nobody writes any more, and losing all of it would be worse."""
    storage.begin(1)
    assert storage.keep(1, unsaid=True) is None
    (storage.work(1) / "model.npz").write_bytes(b"weights")

    kept = storage.keep(1, unsaid=True)

    assert kept is not None
    assert (0, 1) == (kept.step, kept.file_count)


def test_a_kept_checkpoint_is_never_written_again(storage: Storage) -> None:
    """An agent that died after keeping it finds it, and reports what the log may know already."""
    storage.begin(1)
    storage.train(1, 10)
    first = storage.keep(1)
    storage.train(1, 10, **{"model.npz": b"other weights"})

    assert first == storage.keep(1)
    assert b"weights at 10" == (storage.saved(1, 10) / "files/model.npz").read_bytes()


def test_a_file_that_changes_meanwhile_is_no_checkpoint(storage: Storage) -> None:
    """The next look may find it whole; a mixture of two steps must never be kept."""
    storage.begin(1)
    storage.train(1, 10, a=b"1" * 10, b=b"2" * 10)

    def write_into_it() -> None:
        (storage.work(1) / "a").write_bytes(b"changed")

    with pytest.raises(Unavailable, match="changed"):
        keeping.keep(storage.place, 1, unsaid=False, go_on=write_into_it)

    assert ([], []) == (storage.leftovers(), list((storage.home / "saved").iterdir()))


def test_a_hash_that_the_application_told_is_compared(storage: Storage) -> None:
    """It knows best what it wanted to write."""
    storage.begin(1)
    storage.train(1, 10, model=b"weights")
    storage.say(1, step=10, files={"model": hashlib.sha256(b"weights").hexdigest()})
    assert storage.keep(1) is not None

    storage.train(1, 20, model=b"weights")
    storage.say(1, step=20, files={"model": hashlib.sha256(b"what was meant").hexdigest()})
    with pytest.raises(Rejected, match="has sha256"):
        storage.keep(1)


@pytest.mark.parametrize("name", ["gone", "../../secret", "/etc/passwd", "a/../b", ""])
def test_a_list_that_leads_elsewhere_keeps_nothing(storage: Storage, name: str) -> None:
    """Containers write that list; the agent that reads it is root."""
    (storage.root / "secret").write_bytes(SECRET)
    storage.begin(1)
    storage.train(1, 10)
    storage.say(1, step=10, files=[name])

    with pytest.raises(Rejected, match="not there"):
        storage.keep(1)


def test_links_and_pipes_are_never_opened(storage: Storage) -> None:
    """A link would hand the machine's own files to the next container; a pipe would hang."""
    (storage.root / "secret").write_bytes(SECRET)
    storage.begin(1)
    work = storage.work(1)
    (work / "stolen").symlink_to(storage.root / "secret")
    (work / "tree").symlink_to("/etc")
    os.mkfifo(work / "pipe")
    storage.train(1, 10)

    assert storage.keep(1) is not None

    files = storage.saved(1, 10) / "files"
    assert {"checkpoint.json", "model.npz"} == {path.name for path in files.iterdir()}


@pytest.mark.parametrize("listed", [False, True])
def test_a_word_that_is_a_link_or_a_pipe_is_no_word(storage: Storage, listed: bool) -> None:  # noqa: FBT001 - a case
    """The same for the file that is read first."""
    storage.begin(1)
    word = storage.work(1) / "checkpoint.json"
    (storage.root / "secret").write_text('{"step": 3}')
    if listed:
        word.symlink_to(storage.root / "secret")
    else:
        os.mkfifo(word)

    assert storage.keep(1, unsaid=True) is None


@pytest.mark.parametrize("part", ["ckpt", "ckpt/digits-x7k2p", "ckpt/digits-x7k2p/.dorm"])
def test_a_link_on_the_way_is_refused(storage: Storage, part: str) -> None:
    """Another container of the same mount may have put it there."""
    path = storage.root / part
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("/tmp")

    with pytest.raises(Rejected, match="symbolic link"):
        storage.begin(1)
    with pytest.raises(Rejected, match="symbolic link"):
        storage.keep(1)


def test_a_generation_whose_directory_is_a_link_is_not_followed(storage: Storage) -> None:
    """Neither when it is kept nor when it begins."""
    storage.begin(1)
    (storage.home / "g2").symlink_to("/etc")

    with pytest.raises(Rejected, match="symbolic link"):
        storage.begin(2)
    with pytest.raises(OSError, match="Not a directory"):
        storage.keep(2)


def test_names_that_no_manifest_can_hold_are_refused(storage: Storage) -> None:
    """In words that say what to do."""
    storage.begin(1)
    storage.train(1, 10)
    (storage.work(1) / os.fsdecode(b"\xff\xfe")).write_bytes(b"")

    with pytest.raises(Rejected, match="rename the file"):
        storage.keep(1)


def test_a_directory_that_is_too_deep_is_refused(storage: Storage) -> None:
    """The agent must not be led into endless directories."""
    storage.begin(1)
    deep = storage.work(1).joinpath(*["d"] * 40)
    deep.mkdir(parents=True)
    storage.train(1, 10)

    with pytest.raises(Rejected, match="deeper"):
        storage.keep(1)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"model.npz"', '"../model.npz"'), ('"model.npz"', '"checkpoint.json"'), ("{", "[")],
)
def test_a_manifest_that_leads_elsewhere_is_corrupt(storage: Storage, old: str, new: str) -> None:
    """Its hash would tell, but nothing rests on one check alone."""
    storage.begin(1)
    storage.kept(1, 10)
    raw = (storage.saved(1, 10) / "manifest.json").read_text()

    with pytest.raises(Corrupt):
        manifest.read(raw.replace(old, new, 1).encode())


def test_containers_may_not_write_to_what_is_kept(storage: Storage, tmp_path: Path) -> None:
    """Should one of them reach it after all, through another mount."""
    del tmp_path
    storage.begin(1)
    storage.kept(1, 10)

    for path in storage.saved(1, 10).rglob("*"):
        assert not path.stat().st_mode & 0o022
    assert json.loads((storage.saved(1, 10) / "manifest.json").read_text())["step"] == 10
