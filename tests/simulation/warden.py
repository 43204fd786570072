"""The warden of a simulated machine: the real rules, on groups of an engine's containers."""

import asyncio
from typing import Final

from dorm.warden.journal import Deed
from reconcilers import warden
from reconcilers.warden import Freeze, Kill, Permit, Thaw
from tests.simulation.docker import Engine
from tests.simulation.process import MachineClock, Process

LOOK_S: Final = 0.25  # a look that finds nothing to do is left out; the others are as late as ever
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
        self._began_at = 0.0
        self._allowed: dict[str, float] = {}
        self._next: asyncio.TimerHandle | None = None
        engine.moved = self._look_soon

    def start(self, clock: MachineClock) -> None:
        """Start it, in place of one that hangs."""
        self.clock = clock
        self.kill()
        self.alive = True
        self._began_at = asyncio.get_running_loop().time()
        self._look_soon()

    def kill(self) -> None:
        """End it as SIGKILL does; what is frozen stays frozen."""
        self.alive = self.paused = False
        self._forget_next()

    def pause(self) -> None:
        """Stop it as SIGSTOP does."""
        self.paused = True

    def resume(self) -> None:
        """Let it go on; it looks at once at what it has missed."""
        self.paused = False
        self._look_soon()

    def reboot(self) -> None:
        """End it with its machine, and what it was told with it."""
        self.kill()
        self.permit = None

    @property
    def works(self) -> bool:
        """Return whether it does what it is there for."""
        return self.alive and not self.paused

    def frozen_from(self, tenure: str) -> float:
        """Return from when on it has had to freeze a tenure's containers, in the loop's seconds.

        A new warden has to from its own start on.
        """
        return max(self._allowed.get(tenure, 0.0), self._began_at)

    def tell(self, permit: Permit) -> None:
        """Replace the permit. A later deadline gives nothing to do while the old one holds."""
        before, self.permit = self.permit, permit
        now = asyncio.get_running_loop().time()
        self._allowed = {
            tenure: min(until, now) for tenure, until in self._allowed.items()
        }  # of other tenures: over
        self._allowed[permit.tenure] = (permit.deadline_s - self.clock.boot_s) / self.clock.rate
        longer = (
            before is not None
            and before.tenure == permit.tenure
            and _now_s(self.clock) <= before.deadline_s <= permit.deadline_s
        )
        if not longer:
            self._look_soon()

    def _look_soon(self) -> None:
        """Look at the next of the moments that a real one would look at."""
        self._look_at(asyncio.get_running_loop().time())

    def _look_at(self, moment: float) -> None:
        """Look at the first multiple of `LOOK_S` behind a moment."""
        if not self.alive:
            return
        self._forget_next()
        every_s = LOOK_S / self.clock.rate
        looks = round((moment - self._began_at) / every_s + 0.501)  # never the moment itself
        at = self._began_at + looks * every_s
        self._next = asyncio.get_running_loop().call_at(at, self._look)

    def _forget_next(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _look(self) -> None:
        self._next = None
        if self.paused:
            return  # `resume` looks.
        now_s, permit = _now_s(self.clock), self.permit
        if permit is not None and now_s <= permit.deadline_s:
            left_s = (permit.deadline_s - now_s) / self.clock.rate
            self._look_at(asyncio.get_running_loop().time() + left_s)
        groups = self._engine.groups()
        for action in warden.plan(permit, groups, now_s):
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
        if self._warden.works:
            return True
        await asyncio.sleep(START_S)
        await self._process.gate()
        self._warden.start(self._process.clock)
        return True

    async def permit(self, tenure: str, deadline_s: float) -> None:
        """See `Warden`."""
        await self._process.gate()
        self._warden.tell(Permit(tenure=tenure, deadline_s=deadline_s))
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
