"""The record of a run: files of JSON lines, each with the time at which the line was written.

Times are seconds of CLOCK_BOOTTIME: one clock for the run, its processes and its containers, which
nothing sets.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

Line = Mapping[str, Any]

ETCD: Final = "etcd"
DOCKER: Final = "docker"
CGROUPS: Final = "cgroups"
PERMITS: Final = "permits"
USERS: Final = "users"
FAULTS: Final = "faults"
END: Final = "end"


def boottime() -> float:
    """Return CLOCK_BOOTTIME in seconds."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Journal:
    """Writes the files of one record; several threads may."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is made."""
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._writing = threading.Lock()

    def note(self, part: str, **line: Any) -> None:  # noqa: ANN401 - anything that JSON can say
        """Add a line to a part of the record."""
        text = json.dumps({"at": line.pop("at", None) or boottime(), **line})
        with self._writing, (self.folder / f"{part}.jsonl").open("a") as file:
            file.write(text + "\n")


def read(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, none if it is not there. A last line may be cut off by a kill."""
    if not path.exists():
        return
    with path.open() as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
