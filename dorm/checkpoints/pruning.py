"""What no generation can need any more, removed."""

import contextlib
import os
import re
from typing import Final

from dorm.checkpoints import tree
from dorm.checkpoints.keeping import SAVED, SCRATCH
from dorm.checkpoints.manifest import MANIFEST
from dorm.ports.checkpoints import Place

_WORK: Final = re.compile(r"g(\d+)", re.ASCII)
_KEPT: Final = re.compile(r"g(\d+)-s(\d+)", re.ASCII)
_SCRATCH: Final = re.compile(re.escape(SCRATCH) + r"g(\d+)-.*", re.ASCII)


def prune(place: Place, generation: int, oldest_kept: tuple[int, int]) -> None:
    """See `Checkpoints.prune`. What somebody still writes into may stay until the next time."""
    with tree.home(place) as home:
        for name in tree.names(home):
            found = _WORK.fullmatch(name) or _SCRATCH.fullmatch(name)
            if found and int(found[1]) < generation:
                tree.remove_quietly(home, name)
        with contextlib.suppress(FileNotFoundError), tree.opened(home, SAVED) as saved:
            for name in tree.names(saved):
                _prune_kept(saved, name, generation, oldest_kept)


def _prune_kept(saved: int, name: str, generation: int, oldest_kept: tuple[int, int]) -> None:
    kept, scratch = _KEPT.fullmatch(name), _SCRATCH.fullmatch(name)
    if kept and (int(kept[1]), int(kept[2])) < oldest_kept:
        with contextlib.suppress(OSError), tree.opened(saved, name) as number:
            os.unlink(MANIFEST, dir_fd=number)  # First of all: half of it must not look whole.
        tree.remove_quietly(saved, name)
    elif scratch and int(scratch[1]) < generation:
        tree.remove_quietly(saved, name)
