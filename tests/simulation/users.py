"""What users do: submit, change, cancel, each again and again until it is acknowledged."""

from random import Random
from typing import Final

import attrs

from dorm.ports import Clock, Randomness
from events.apps import (
    AppCancelRequested,
    AppChanged,
    AppSpec,
    AppSubmitted,
    CheckpointPolicy,
    Mount,
    RetryPolicy,
    Scale,
)
from events.catalog import Event
from events.errors import Unavailable
from events.log import EventLog
from events.policy import LayoutConfigured, LayoutRules
from events.recorded import Stamp
from events.units import Resources
from tests.simulation.checker import Checker
from tests.simulation.docker import MISSING_IMAGE
from tests.simulation.training import Program

GIB: Final = 1 << 30
RETRY_S: Final = 0.5


@attrs.frozen(kw_only=True)
class Errand:
    """One application that a user wants, and what becomes of the wish later.

    Attributes:
        after_s: Wait before the submit.
        cancel_after_s: Wait from the receipt to the cancel; None for never.
        change_after_s: Wait from the receipt to new bounds; None for never.
    """

    name: str
    after_s: float
    program: Program
    scale: Scale
    cpus: int = 1
    gpus: int = 0
    image: str = "trainer"
    on_disconnect: str = "stop"
    cancel_after_s: float | None = None
    change_after_s: float | None = None

    def spec(self) -> AppSpec:
        """Return the spec to submit."""
        return AppSpec(
            name=self.name,
            image=self.image,
            start=("train", "--fresh"),
            resume=("train", "--resume"),
            resources=Resources(cpu_milli=self.cpus * 1000, memory_bytes=GIB, gpu_count=self.gpus),
            scale=self.scale,
            env=self.program.as_env(),
            on_disconnect=self.on_disconnect,
            checkpoint=CheckpointPolicy(grace_ms=10_000, path="/data/$DORM_APP_ID"),
            mounts=(Mount(name="shared", target="/data"),),
            retry=RetryPolicy(
                max=2 if self.image == MISSING_IMAGE else 1_000,
                backoff_ms=1_000,
                backoff_max_ms=8_000,
            ),
        )


def random_errands(random: Random, count: int) -> tuple[Errand, ...]:
    """Return a mixed lot: long and short, quiet and crashing, deaf, impossible, cancelled."""

    def maybe(probability: float, low: float, high: float) -> float | None:
        return random.uniform(low, high) if random.random() < probability else None

    keeping = random.choice((0.0, 0.0, 0.0, 0.5))
    errands = []
    for index in range(count):
        least = random.randint(1, 3)
        program = Program(
            steps=random.randint(20, 300),
            save_every=random.choice((5, 10, 40)),
            crash_s=random.choice((0.0, 0.0, 60.0)),
            deaf=random.random() < 0.1,
        )
        errands.append(
            Errand(
                name=f"app{index}",
                after_s=random.uniform(0, 25),
                program=program,
                scale=Scale(min=least, max=random.randint(least, 8)),
                cpus=random.choice((1, 1, 2)),
                gpus=random.choice((0, 0, 1)),
                image=MISSING_IMAGE if random.random() < 0.06 else "trainer",
                on_disconnect="keep" if random.random() < keeping else "stop",
                cancel_after_s=maybe(0.15, 0, 60),
                change_after_s=maybe(0.2, 5, 60),
            )
        )
    return tuple(errands)


class User:
    """One user with a list of errands, who never gives up."""

    def __init__(
        self, name: str, *, log: EventLog, clock: Clock, randomness: Randomness, checker: Checker
    ) -> None:
        """Give the user a log to write to."""
        self._name, self._log, self._clock = name, log, clock
        self._randomness, self._checker = randomness, checker

    async def run(self, errands: tuple[Errand, ...]) -> None:
        """Do everything, in order. Returns when all of it is acknowledged."""
        for errand in errands:
            await self._clock.sleep(errand.after_s)
            app_id = await self._submit(errand)
            if errand.change_after_s is not None:
                await self._clock.sleep(errand.change_after_s)
                await self._append(AppChanged(app_id=app_id, scale=Scale(min=1, max=3)))
            if errand.cancel_after_s is not None:
                await self._clock.sleep(errand.cancel_after_s)
                await self.cancel(app_id)

    async def configure(self, rules: LayoutRules) -> None:
        """Set the rules of layouts. Returns when that is acknowledged."""
        await self._append(LayoutConfigured(rules=rules))

    async def cancel(self, app_id: str) -> None:
        """Ask for an application's end. Returns when that is acknowledged."""
        await self._append(AppCancelRequested(app_id=app_id))

    async def _submit(self, errand: Errand) -> str:
        spec, key = errand.spec(), f"{self._name}-{errand.name}"
        while True:  # Ends once etcd answers, which the healing phase guarantees.
            # As the API does: a new id for each try, under the same idempotency key.
            app_id = f"{errand.name}-{self._randomness.token(6)}"
            event = AppSubmitted(app_id=app_id, spec=spec)
            try:
                receipt = await self._log.submit(event, key=key, stamp=self._stamp(key))
            except Unavailable:
                await self._clock.sleep(RETRY_S)
                continue
            self._checker.acknowledged(errand.name, receipt.app_id)
            self._checker.steps[receipt.app_id] = errand.program.steps
            return receipt.app_id

    async def _append(self, event: Event) -> None:
        """Append an event, again and again until it is written once."""
        opened = False
        while True:  # Ends once etcd answers, as above.
            try:
                if opened and await self._log.settle() is not None:
                    return
                opened = True
                await self._log.append((event,), stamp=self._stamp(""))
            except Unavailable:
                await self._clock.sleep(RETRY_S)
            else:
                return

    def _stamp(self, cause: str) -> Stamp:
        return Stamp(at_ms=self._clock.now_ms(), actor=f"user/{self._name}", cause=cause)
