"""One application's part of a storage, with what its containers and its agent do there."""

import hashlib
import json
import stat
from pathlib import Path
from typing import Final

from dorm.checkpoints import keeping, seeding
from dorm.ports.checkpoints import Kept, Place
from reconcilers.documents import Seed

APP: Final = "digits-x7k2p"


def wait_for_nothing() -> None:
    """Go on with the copy."""


class Storage:
    """A mount with the checkpoints of one application."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.place = Place(app_id=APP, directory=f"{root}/ckpt/{APP}", below=str(root))
        self.home = Path(self.place.home)

    def work(self, generation: int) -> Path:
        """Return the directory of a generation."""
        return Path(self.place.work_dir(generation))

    def saved(self, generation: int, step: int) -> Path:
        """Return the directory of a kept checkpoint."""
        return self.home / "saved" / f"g{generation}-s{step}"

    def train(self, generation: int, step: int, **files: bytes) -> None:
        """Write a checkpoint as a container does, its word last."""
        work = self.work(generation)
        for name, content in (files or {"model.npz": b"weights at %d" % step}).items():
            path = work / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.say(generation, step=step)

    def say(self, generation: int, **word: object) -> None:
        """Write `checkpoint.json` in one step."""
        new = self.work(generation) / ".word"
        new.write_text(json.dumps(word))
        new.rename(self.work(generation) / "checkpoint.json")

    def begin(self, generation: int, seed: Seed | None = None, node_id: str = "n1") -> str:
        """Make the directory of a generation."""
        return seeding.seed(self.place, generation, seed, node_id=node_id, go_on=wait_for_nothing)

    def keep(self, generation: int, *, unsaid: bool = False) -> Kept | None:
        """Set the newest checkpoint apart."""
        return keeping.keep(self.place, generation, unsaid=unsaid, go_on=wait_for_nothing)

    def kept(self, generation: int, step: int, **files: bytes) -> Seed:
        """Train, keep, and return what the log would say of it."""
        self.train(generation, step, **files)
        kept = self.keep(generation)
        assert kept is not None
        assert kept.step == step
        return seed_of(generation, kept)

    def leftovers(self) -> list[str]:
        """Return what is there beside directories of generations and kept checkpoints."""
        found = [path.name for path in (*self.home.iterdir(), *(self.home / "saved").glob("*"))]
        return sorted(name for name in found if name.startswith("."))


def seed_of(generation: int, kept: Kept) -> Seed:
    """Return a kept checkpoint as a document names it."""
    return Seed(generation=generation, step=kept.step, manifest_sha256=kept.manifest_sha256)


def content(directory: Path) -> dict[str, str]:
    """Return all that is in a directory: hashes of files, targets of links, modes."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[name] = f"{stat.S_IMODE(path.stat().st_mode):o}"
        else:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[name] = f"{digest} {stat.S_IMODE(path.stat().st_mode):o}"
    return found
