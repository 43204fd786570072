"""The warden of a simulated machine: the real rules, on groups of an engine's containers."""

import asyncio
from typing import Final

from dorm.warden.journal import Deed
from reconcilers import warden
from reconcilers.warden import Freeze, Kill, Permit, Thaw
from tests.simulation.docker import Engine
from tests.simulation.process import MachineClock, Process

LOOK_S: Final = 0.25
START_S: Final = 0.3
FREEZE_S_MAX: Final = 0.4  # from the decision to the last process that stands still


class WardenProcess:
    """What runs apart from the agent, on the same machine.

    Attributes:
        permit: As the agent wrote it last; gone after a reboot.
        alive, paused: As the process is.
    """

    def __init__(self, engine: Engine) -> None:
        """Guard the containers of `engine`. Not started yet."""
        self.permit: Permit | None = None
        self.alive = self.paused = False
        self.clock = MachineClock()
        self._engine = engine
        self._task: asyncio.Task[None] | None = None

    def start(self, clock: MachineClock) -> None:
        """Start it, in place of one that hangs."""
        self.clock = clock
        self.kill()
        self.alive = True
        self._task = asyncio.create_task(self._run(), name=f"warden of {self._engine.node_id}")

    def kill(self) -> None:
        """End it as SIGKILL does; what is frozen stays frozen."""
        self.alive = self.paused = False
        if self._task is not None:
            self._task.cancel()

    def reboot(self) -> None:
        """End it with its machine, and what it was told with it."""
        self.kill()
        self.permit = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S / self.clock.rate)
            if not self.paused:
                self._look()

    def _look(self) -> None:
        groups = self._engine.groups()
        for action in warden.plan(self.permit, groups, _now_s(self.clock)):
            key = action.tenure, action.on_disconnect
            match action:
                case Freeze():
                    delay = self._engine.random.uniform(0, FREEZE_S_MAX)
                    self._engine.freeze(*key, after_s=delay)
                case Thaw():
                    self._engine.thaw(*key)
                case Kill():
                    self._engine.kill_group(*key)


class SimWarden:
    """See `dorm.ports.Warden`, for one agent."""

    def __init__(self, warden: WardenProcess, engine: Engine, process: Process) -> None:
        """Give `process` the warden of its machine."""
        self._warden, self._engine, self._process = warden, engine, process

    async def ensure(self) -> bool:
        """See `Warden`. A dead or hung one is replaced, which takes a moment."""
        await self._process.gate()
        if self._warden.alive and not self._warden.paused:
            return True
        await asyncio.sleep(START_S)
        await self._process.gate()
        self._warden.start(self._process.clock)
        return True

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """See `Warden`."""
        await self._process.gate()
        self._warden.permit = Permit(tenure=tenure, deadline_s=deadline_s)
        await self._process.gate()

    async def permitted(self) -> Permit | None:
        """See `Warden`."""
        await self._process.gate()
        return self._warden.permit

    async def empty(self, tenure: str) -> bool:
        """See `Warden`."""
        await self._process.gate()
        others = [group for group in self._engine.groups() if group.tenure != tenure]
        return not any(group.populated or not group.frozen for group in others)

    async def deeds(self, after: int) -> tuple[Deed, ...]:
        """See `Warden`."""
        del after
        await self._process.gate()
        return ()


def _now_s(clock: MachineClock) -> float:
    return asyncio.get_running_loop().time() * clock.rate + clock.boot_s
