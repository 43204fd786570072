"""What goes wrong with the storage of checkpoints itself."""

from random import Random
from typing import Final

from dorm.checkpoints.keeping import name_of
from dorm.ports.checkpoints import Place
from tests.simulation.files import SHARED

LATE: Final = b'{"step": 1000000}'


class Storage:
    """The storage that all machines mount."""

    def __init__(self, files: dict[str, bytes]) -> None:
        """Take its files by path."""
        self.files = files

    def damage(self, app_id: str, position: tuple[int, int], random: Random) -> None:
        """Let a file of a kept checkpoint be lost, cut short, or changed."""
        home = f"{place(app_id).home}/saved/{name_of(*position)}/"
        path = random.choice(sorted(path for path in self.files if path.startswith(home)))
        content = self.files[path]
        kind = random.choice(("lost", "cut", "changed"))
        if kind == "lost":
            del self.files[path]
        elif kind == "cut":
            self.files[path] = content[: len(content) // 2]
        else:
            self.files[path] = bytes([content[0] ^ 1]) + content[1:]

    def write_late(self, app_id: str, generation: int) -> None:
        """Write into the directory of a generation, if it is still there."""
        work = place(app_id).work_dir(generation)
        if f"{work}/" in self.files:
            self.files[f"{work}/checkpoint.json"] = LATE
            for path in [path for path in self.files if path.startswith(f"{work}/model-")]:
                self.files[path] = b"rubbish"


def place(app_id: str) -> Place:
    """Return where the checkpoints of an application lie."""
    return Place(app_id=app_id, directory=f"{SHARED}/{app_id}", below=SHARED)
