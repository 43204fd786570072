"""Which ends of containers are the engine's doing.

An engine without live-restore takes its containers with it when it stops: it signals them, and one
that saves its work then ends with 0, as if it had finished. One that was killed does so at its next
start. And where the machine went down, every code is 255. The engine keeps no record of that. So
the end of a container is believed to be its own only if it was seen alive before, in the same life
of the engine. A life ends when a call is not answered, or the events break off.

What is wrongly taken for the engine's doing costs a restart from the checkpoint, nothing else.
"""

import threading
from typing import Final

LOST: Final = 255
"""The code that the engine gives to containers whose end nobody saw."""


class Lives:
    """What was seen alive in the present life of the engine. Threads may share it.

    Attributes:
        survives: Whether containers outlive the engine (live-restore); None until it is asked.
    """

    def __init__(self) -> None:
        """Begin without having seen anything."""
        self.survives: bool | None = None
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def alive(self, name: str) -> None:
        """Note that a container runs, or was started."""
        with self._lock:
            self._seen.add(name)

    def forget(self) -> None:
        """Note that the engine was away, for all that is known."""
        with self._lock:
            self.survives = None
            self._seen.clear()

    def interrupted(self, name: str, exit_code: int) -> bool:
        """Return whether an ended container may have been ended by the engine, or the machine."""
        with self._lock:
            return name not in self._seen and (not self.survives or exit_code == LOST)
