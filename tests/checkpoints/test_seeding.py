"""Directories of new generations: a whole copy of what the log names, or nothing at all."""

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from dorm.checkpoints import pruning, seeding
from events.errors import Unavailable
from tests.checkpoints.storage import Storage, content


def test_the_first_generation_begins_with_nothing(storage: Storage) -> None:
    """In a directory that containers of any user may write to."""
    assert storage.begin(1) == ""

    assert [] == list(storage.work(1).iterdir())
    assert 0o777 == stat.S_IMODE(storage.work(1).stat().st_mode)


def test_a_generation_begins_with_what_was_kept(storage: Storage) -> None:
    """The same files, modes, links and times; and copies, so that nothing is shared."""
    storage.begin(1)
    work = storage.work(1)
    (work / "bin").mkdir(mode=0o750)
    storage.train(1, 40, **{"bin__run": b"#!", "model.npz": b"weights"})
    (work / "bin" / "run").chmod(0o711)
    (work / "latest").symlink_to("model.npz")
    os.utime(work / "model.npz", ns=(1_000_000_007, 2_000_000_009))
    if os.getuid() == 0:
        os.chown(work / "model.npz", 1234, 5678)
    seed = storage.kept(1, 40, other=b"x")

    assert storage.begin(2, seed) == ""

    assert content(work) == content(storage.work(2))
    old, new = (work / "model.npz").stat(), (storage.work(2) / "model.npz").stat()
    assert (old.st_mtime_ns, old.st_uid, old.st_gid) == (new.st_mtime_ns, new.st_uid, new.st_gid)
    kept = storage.saved(1, 40) / "files" / "model.npz"
    assert 3 == len({old.st_ino, new.st_ino, kept.stat().st_ino})


def test_a_zombie_that_writes_on_changes_neither_what_is_kept_nor_what_follows(
    storage: Storage,
) -> None:
    """It can waste work, and never damage it."""
    storage.begin(1)
    seed = storage.kept(1, 40)
    storage.begin(2, seed)
    before = content(storage.work(2)), content(storage.saved(1, 40))

    storage.train(1, 50, **{"model.npz": b"rubbish"})
    late = storage.keep(1)

    assert before == (content(storage.work(2)), content(storage.saved(1, 40)))
    assert late is not None
    assert storage.begin(3, seed) == ""
    assert before[0] == content(storage.work(3))


def change(path: Path, *, flip: bool = False, cut: bool = False) -> None:
    """Damage a file."""
    raw = bytearray(path.read_bytes())
    if flip:
        raw[len(raw) // 2] ^= 1
    if cut:
        del raw[-1]
    path.write_bytes(raw)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda kept: change(kept / "files/model.npz", flip=True), "model.npz has other content"),
        (lambda kept: change(kept / "files/model.npz", cut=True), "model.npz has 12 bytes"),
        (lambda kept: (kept / "files/model.npz").unlink(), "model.npz cannot be opened"),
        (lambda kept: change(kept / "manifest.json", flip=True), "manifest.json has other content"),
        (lambda kept: change(kept / "manifest.json", cut=True), "manifest.json has other content"),
        (lambda kept: (kept / "manifest.json").unlink(), "not there"),
        (lambda kept: kept.rename(kept.with_name("away")), "not there"),
        (lambda kept: (kept / "files").rename(kept / "away"), "not there"),
    ],
)
def test_what_is_damaged_is_told_and_nothing_is_made_of_it(
    storage: Storage, damage: object, words: str
) -> None:
    """The next candidate is tried then; half a directory would be taken for a whole one."""
    storage.begin(1)
    seed = storage.kept(1, 40)
    damage(storage.saved(1, 40))  # type: ignore[operator]

    assert words in storage.begin(2, seed)

    assert not storage.work(2).exists()
    assert [] == storage.leftovers()


def test_a_link_in_the_place_of_a_kept_file_is_damage(storage: Storage) -> None:
    """It would lead to a file of the machine, of the right size even."""
    storage.begin(1)
    seed = storage.kept(1, 40)
    path = storage.saved(1, 40) / "files/model.npz"
    copy = storage.root / "copy"
    copy.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(copy)

    assert "model.npz cannot be opened" in storage.begin(2, seed)


def test_a_manifest_of_another_checkpoint_is_not_taken(storage: Storage) -> None:
    """Whole in itself, but not the one that the log names."""
    storage.begin(1)
    seed = storage.kept(1, 40)

    assert "other content" in storage.begin(2, attrs.evolve(seed, manifest_sha256="0" * 64))


def test_a_directory_that_is_there_is_left_as_it_is(storage: Storage) -> None:
    """Containers of another node may have worked in it for an hour already."""
    storage.begin(1)
    seed = storage.kept(1, 40)
    storage.begin(2, seed)
    storage.train(2, 50)

    assert storage.begin(2, seed, node_id="n2") == ""
    assert storage.begin(2, None, node_id="n3") == ""

    assert b"weights at 50" == (storage.work(2) / "model.npz").read_bytes()


@pytest.mark.parametrize("saved", [True, False])
def test_many_nodes_that_begin_at_once_make_one_directory(storage: Storage, saved: bool) -> None:  # noqa: FBT001 - a case
    """The first rename counts; whoever loses throws its copy away."""
    storage.begin(1)
    seed = storage.kept(1, 40, model=os.urandom(3 << 20)) if saved else None
    inodes = set()

    def begin(number: int) -> None:
        assert storage.begin(2, seed, node_id=f"n{number}") == ""
        inodes.add(storage.work(2).stat().st_ino)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(begin, range(8)))

    assert 1 == len(inodes)
    assert [] == storage.leftovers()
    if saved:
        assert content(storage.work(1)) == content(storage.work(2))


def test_a_copy_that_nobody_waits_for_ends_and_leaves_nothing(storage: Storage) -> None:
    """A generation that is cancelled must not go on copying for minutes."""
    storage.begin(1)
    seed = storage.kept(1, 40)

    def give_up() -> None:
        raise Unavailable("given up")

    with pytest.raises(Unavailable, match="given up"):
        seeding.seed(storage.place, 2, seed, node_id="n1", go_on=give_up)

    assert not storage.work(2).exists()
    assert [] == storage.leftovers()


def test_what_nobody_can_need_is_removed(storage: Storage) -> None:
    """Below the oldest kept checkpoint, and the directories of generations that are gone."""
    storage.begin(1)
    for step in (10, 20, 30):
        storage.kept(1, step)
    storage.begin(2, storage.kept(1, 40))
    storage.kept(2, 5)
    (storage.home / "saved" / ".new-g1-dead").mkdir()
    (storage.home / ".new-g1-n9-dead").mkdir()
    (storage.home / ".new-g2-n9-alive").mkdir()

    pruning.prune(storage.place, 2, (1, 30))

    assert {"g2", "saved", ".new-g2-n9-alive"} == {path.name for path in storage.home.iterdir()}
    assert {"g1-s30", "g1-s40", "g2-s5"} == {
        path.name for path in (storage.home / "saved").iterdir()
    }
