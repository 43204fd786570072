"""Speed of keeping a checkpoint and of seeding a generation: `python -m tests.bench.checkpoints`.

Beside them, in the same run and in turn: a plain copy without any check, the hash alone, and two
other ways to copy: in one pass through the process, and by shared blocks where the file system has
them (`--dir` chooses the file system). Every copy ends with fsync.
"""

import argparse
import hashlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dorm.checkpoints import keeping, seeding
from dorm.checkpoints.copying import CHUNK_BYTES, clone, copy
from dorm.ports.checkpoints import Place
from reconcilers.documents import Seed

MIB: Final = 1 << 20


class Bench:
    """One application with a checkpoint of some size."""

    def __init__(self, root: Path, *, mib: int, files: int) -> None:
        """Write the checkpoint."""
        self._place = Place(app_id="bench", directory=f"{root}/bench", below=str(root))
        self._root, self._generation, self._step = root, 1, 0
        seeding.seed(self._place, 1, None, node_id="n1", go_on=_go_on)
        self._work = Path(self._place.work_dir(1))
        for number in range(files):
            with (self._work / f"shard-{number}").open("wb") as file:
                for _ in range(mib // files):
                    file.write(os.urandom(MIB))
        self._shards = sorted(self._work.glob("shard-*"))
        self._seed: Seed | None = None

    def keep(self) -> None:
        """Keep the checkpoint anew."""
        self._step += 1
        (self._work / "checkpoint.json").write_text(f'{{"step": {self._step}}}')
        kept = keeping.keep(self._place, 1, unsaid=False, go_on=_go_on)
        assert kept is not None
        self._seed = Seed(generation=1, step=kept.step, manifest_sha256=kept.manifest_sha256)

    def begin(self) -> None:
        """Make the directory of another generation."""
        self._generation += 1
        damage = seeding.seed(self._place, self._generation, self._seed, node_id="n1", go_on=_go_on)
        assert damage == ""

    def hash_alone(self) -> None:
        """Read and hash."""
        for shard in self._shards:
            with shard.open("rb") as file:
                hashlib.file_digest(file, "sha256")

    def plain_copy(self) -> None:
        """Copy as `cp -r` would, and sync."""
        target = self._root / "plain"
        shutil.copytree(self._work, target)
        for path in target.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())

    def copied(self, way: Callable[[int, int], object]) -> None:
        """Copy every shard one way."""
        (self._root / "copied").mkdir()
        for shard in self._shards:
            with shard.open("rb") as old, (self._root / "copied" / shard.name).open("wb+") as new:
                way(old.fileno(), new.fileno())

    def clear(self) -> None:
        """Remove all copies."""
        for name in ("plain", "copied"):
            shutil.rmtree(self._root / name, ignore_errors=True)
        for old in Path(self._place.home).glob("g*"):
            if old != self._work:
                shutil.rmtree(old)
        for old in (Path(self._place.home) / "saved").iterdir():
            if self._seed is not None and not old.name.endswith(f"-s{self._seed.step}"):
                shutil.rmtree(old)


def _go_on() -> None:
    pass


def as_dorm(source: int, target: int) -> None:
    """Copy inside the kernel, or share blocks where that is possible; then read and hash."""
    copy(source, target, _go_on)


def one_pass(source: int, target: int) -> None:
    """Read, hash and write, chunk by chunk."""
    sha256 = hashlib.sha256()
    while chunk := os.read(source, CHUNK_BYTES):
        sha256.update(chunk)
        os.write(target, chunk)
    os.fsync(target)


def shared(source: int, target: int) -> None:
    """Share the blocks, then read and hash."""
    if not clone(source, target):
        raise NotImplementedError
    _hash(target)
    os.fsync(target)


def _hash(number: int) -> None:
    sha256 = hashlib.sha256()
    os.lseek(number, 0, os.SEEK_SET)
    while chunk := os.read(number, CHUNK_BYTES):
        sha256.update(chunk)


def table(bench: Bench, *, mib: int, rounds: int) -> str:
    """Return the medians."""
    ways: dict[str, Callable[[], None]] = {
        "keep (Dorm)": bench.keep,
        "seed (Dorm)": bench.begin,
        "copy as Dorm does, hash": lambda: bench.copied(as_dorm),
        "read, hash, write in one pass": lambda: bench.copied(one_pass),
        "share blocks, hash": lambda: bench.copied(shared),
        "plain copy, no hash": bench.plain_copy,
        "hash alone": bench.hash_alone,
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds):
        for name, way in ways.items() if number % 2 == 0 else reversed(ways.items()):
            if name == "seed (Dorm)" and number % 2:
                bench.keep()
            began = time.monotonic()
            try:
                way()
                rates[name].append(mib / (time.monotonic() - began))
            except NotImplementedError:
                pass
            bench.clear()
    lines = [f"{'way':<34}{'MiB/s':>8}"]
    for name, found in rates.items():
        shown = f"{statistics.median(found):>8.0f}" if found else "  not on this file system"
        lines.append(f"{name:<34}{shown}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", help="on the file system to measure", default=None)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dorm-bench-", dir=chosen.dir) as folder:
        bench = Bench(Path(folder), mib=chosen.mib, files=chosen.files)
        text = table(bench, mib=chosen.mib, rounds=chosen.rounds)
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
