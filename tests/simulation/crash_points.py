"""Processes of the simulation that crash at a fail point (`dorm.failpoints`).

Users pass the points of the log too; they are people, and do not crash.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import attrs

from dorm.failpoints import POINTS
from tests.simulation.process import Process

ELSEWHERE: Final = ("api.", "files.", "planner.")  # the simulation has ports in their place
SIMULATED: Final = tuple(sorted(name for name in POINTS if not name.startswith(ELSEWHERE)))


@attrs.define
class _Armed:
    """A crash to come.

    Attributes:
        process: The beginning of the names of those that may crash; empty for all.
        left: Passes until then.
        gap: Passes from this crash to the next one; 0 for no other.
    """

    name: str
    process: str
    left: int
    gap: int = 0


class CrashPoints:
    """Sees every pass of a point, and kills the process where that is asked for.

    Attributes:
        passes: How often masters and agents passed each point.
        crashed: The points at which one of them was killed, in order.
        spares: Tells which processes pass unharmed now.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """Arm nothing; `tell` writes the story."""
        self.passes: Counter[str] = Counter()
        self.crashed: list[str] = []
        self.spares: Callable[[Process], bool] = lambda _: False
        self._tell = tell
        self._armed: list[_Armed] = []

    def arm(self, name: str, *, process: str = "", nth: int = 1) -> None:
        """Kill the process that makes the `nth` pass from now on, once."""
        assert name in SIMULATED, f"{name} is no fail point of the simulation"
        self._armed.append(_Armed(name, process, nth))

    def arm_often(self, name: str, *, process: str = "") -> None:
        """Kill at the first pass, at the second, fourth, seventh: ever later, so work goes on."""
        self.arm(name, process=process)
        self._armed[-1].gap = 1

    def disarm(self) -> None:
        """Let everyone live."""
        self._armed.clear()

    def passed(self, process: Process, name: str) -> None:
        """See a pass; a process that is killed gets no further than here."""
        process.check()
        if not process.name.startswith(("m", "n")):
            return
        self.passes[name] += 1
        if self.spares(process):
            return
        for armed in list(self._armed):
            if armed.name == name and process.name.startswith(armed.process):
                armed.left -= 1
                if armed.left == 0:
                    if armed.gap:
                        armed.left, armed.gap = armed.gap, armed.gap + 1
                    else:
                        self._armed.remove(armed)
                    self._crash(process, name)

    def _crash(self, process: Process, name: str) -> None:
        self.crashed.append(name)
        self._tell(f"CRASH of {process.name} at {name}")
        process.kill()
        process.check()
