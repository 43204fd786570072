"""A crash between any two steps, and a full disk: the next try repairs, and nothing is half."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dorm.checkpoints import SystemCheckpoints
from events.errors import Unavailable
from tests.checkpoints.storage import Storage, content, seed_of

POINTS_MAX = 500
CRASHED = 9
TOUCHING = ("open", "os.", "shutil.", "fcntl.", "ctypes.dlsym")


def crash_at(point: int, work: Callable[[], object]) -> bool:
    """Run `work` in a child that dies at its n-th touch of the disk; return whether it did."""
    child = os.fork()
    if child == 0:
        left = point

        def hook(name: str, _: object) -> None:
            nonlocal left
            if name.startswith(TOUCHING):
                left -= 1
                if left == 0:
                    os._exit(CRASHED)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == CRASHED


def points(work: Callable[[int], bool]) -> Iterator[int]:
    """Yield every point at which a crash is possible; ends at the first run without one."""
    for point in range(1, POINTS_MAX):
        if not work(point):
            assert point > 10, "the crashes were not where the work is"
            return
        yield point
    raise AssertionError("the work does not end")


def test_a_crash_while_a_checkpoint_is_kept_costs_nothing(tmp_path: Path) -> None:
    """What has its name is whole; what has none is cleared away by the next try."""

    def world(point: int) -> Storage:
        storage = Storage(tmp_path / f"{point}")
        storage.root.mkdir()
        storage.begin(1)
        storage.train(1, 10, a__model=b"weights", b=b"more")
        return storage

    storages: list[Storage] = []

    def crash(point: int) -> bool:
        storages.append(world(point))
        return crash_at(point, lambda: storages[-1].keep(1))

    for _ in points(crash):
        storage = storages[-1]
        before = storage.saved(1, 10).exists()
        kept = storage.keep(1)
        assert kept is not None
        assert [] == storage.leftovers()
        assert storage.begin(2, seed_of(1, kept)) == ""
        assert content(storage.work(1)) == content(storage.work(2))
        if before:
            assert kept == storage.keep(1)


def test_a_crash_while_a_generation_is_made_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    """A container must never start on half a checkpoint."""
    storages: list[Storage] = []

    def crash(point: int) -> bool:
        storage = Storage(tmp_path / f"{point}")
        storages.append(storage)
        storage.root.mkdir()
        storage.begin(1)
        seed = storage.kept(1, 10, a__model=b"weights", b=b"more")
        died = crash_at(point, lambda: storage.begin(2, seed))
        if storage.work(2).exists():
            assert content(storage.work(1)) == content(storage.work(2))
        assert storage.begin(2, seed) == ""
        assert content(storage.work(1)) == content(storage.work(2))
        assert 0o777 == storage.work(2).stat().st_mode & 0o777
        assert [] == storage.leftovers()
        return died

    assert len(list(points(crash))) > 20


def test_an_empty_directory_is_open_to_all_even_after_a_crash(tmp_path: Path) -> None:
    """Its maker may die between making it and opening it."""

    def crash(point: int) -> bool:
        storage = Storage(tmp_path / f"{point}")
        storage.root.mkdir()
        died = crash_at(point, lambda: storage.begin(1))
        storage.begin(1, node_id="n2")
        assert 0o777 == storage.work(1).stat().st_mode & 0o777
        return died

    assert len(list(points(crash))) > 10


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Storage]:
    """A mount of 4 MiB."""
    if os.getuid() != 0:
        pytest.skip("only root may mount a small file system")
    root = tmp_path / "small"
    root.mkdir()
    options = ["-t", "tmpfs", "-o", "size=4m", "dorm-test"]
    subprocess.run(["mount", *options, str(root)], check=True)
    try:
        yield Storage(root)
    finally:
        subprocess.run(["umount", str(root)], check=True)


async def test_a_full_disk_keeps_the_checkpoints_before(small: Storage) -> None:
    """Nothing half is left behind, and once there is room it works again."""
    port = SystemCheckpoints("n1")
    await port.seed(small.place, 1, None)
    small.train(1, 10, model=b"1" * (1 << 20))
    assert await port.keep(small.place, 1) is not None
    before = content(small.saved(1, 10))
    small.train(1, 20, model=b"2" * (3 << 19))

    with pytest.raises(Unavailable, match="No space left"):
        await port.keep(small.place, 1)

    assert before == content(small.saved(1, 10))
    assert (["g1-s10"], []) == (
        [path.name for path in (small.home / "saved").iterdir()],
        small.leftovers(),
    )
    (small.work(1) / "model").write_bytes(b"2" * (1 << 20))
    kept = await port.keep(small.place, 1)
    assert kept is not None
    assert kept.step == 20


async def test_a_full_disk_makes_no_generation(small: Storage) -> None:
    """It is no damage of the checkpoint, so the agent tries again instead of rejecting it."""
    port = SystemCheckpoints("n1")
    await port.seed(small.place, 1, None)
    small.train(1, 10, model=b"1" * (3 << 19))
    kept = await port.keep(small.place, 1)
    assert kept is not None

    with pytest.raises(Unavailable, match="No space left"):
        await port.seed(small.place, 2, seed_of(1, kept))

    assert not small.work(2).exists()
    (small.work(1) / "model").unlink()
    assert await port.seed(small.place, 2, seed_of(1, kept)) == ""
