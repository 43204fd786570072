"""What runs inside simulated containers: data-parallel trainings that save their work.

A generation makes steps only while all of its ranks run. When one dies, its peers fail some
seconds later, or hang for ever as many frameworks do. After the signal a rank ends with 0, and
rank 0 leaves a checkpoint.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Final, Protocol

import attrs

from events.codec import digest

WORD: Final = "checkpoint.json"


@attrs.frozen(kw_only=True)
class Program:
    """How an application behaves, as its spec's environment says.

    Attributes:
        steps: How many it needs.
        save_every: Steps between two checkpoints that it writes unasked.
        crash_s: A container crashes once in so many seconds on average; 0 for never.
        deaf: It ignores every signal but SIGKILL.
    """

    steps: int
    save_every: int = 10
    crash_s: float = 0.0
    deaf: bool = False

    def as_env(self) -> dict[str, str]:
        """Return the environment that `from_env` reads."""
        return {f"SIM_{name.upper()}": str(value) for name, value in attrs.asdict(self).items()}

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> "Program":
        """Return the program that `as_env` described."""
        return cls(
            steps=int(env["SIM_STEPS"]),
            save_every=int(env["SIM_SAVE_EVERY"]),
            crash_s=float(env["SIM_CRASH_S"]),
            deaf=env["SIM_DEAF"] == "True",
        )


class Witness(Protocol):
    """Who is told what trainings do."""

    def training_began(self, app_id: str, generation: int, step: int | None) -> None:
        """All ranks run: the training goes on from `step`; None when its files are no whole one."""
        ...

    def checkpoint_saved(self, app_id: str, generation: int, step: int) -> None:
        """A complete checkpoint of `step` is in the directory of its generation."""
        ...


class CheckpointFiles(Protocol):
    """The checkpoint directory as a container sees it."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None."""
        ...

    def write(self, name: str, content: bytes | None) -> None:
        """Replace a file in one step; remove it for None."""
        ...


@attrs.define(eq=False)
class Rank:
    """One container's part in a training.

    Attributes:
        origin: Of its generation: numbers come again when the store is restored.
        fresh: It was told to begin from nothing, whatever is saved.
        die: Ends the container with an exit code.
        tell: Writes a step into its progress file.
        files: Of its checkpoint directory.
    """

    app_id: str
    generation: int
    number: int
    size: int
    program: Program
    fresh: bool
    die: Callable[[int], None]
    tell: Callable[[int], None]
    files: "CheckpointFiles"
    origin: str = ""
    running: bool = True
    signalled: bool = False
    frozen: bool = False
    dies_of: int | None = None

    def end(self, exit_code: int) -> None:
        """End the container; a frozen one ends when it is thawed."""
        if self.frozen:
            self.dies_of = exit_code
        elif self.running:
            self.die(exit_code)

    @property
    def run(self) -> tuple[str, int, str]:
        """Return which training it takes part in."""
        return self.app_id, self.generation, self.origin


def weights(app_id: str, step: int) -> bytes:
    """Return what an application has learnt after so many steps."""
    return f"{app_id} at {step}".encode()


class Trainings:
    """All trainings of the cluster, and the shared disk with their checkpoints.

    Attributes:
        saved: The highest step that was ever written, by application.
        crashing: Whether those that are made to crash do so.
    """

    def __init__(self, random: Random, witness: Witness) -> None:
        """Start with nothing saved."""
        self.saved: dict[str, int] = {}
        self.crashing = True
        self.random, self.witness = random, witness
        self._runs: dict[tuple[str, int, str], _Run] = {}

    def started(self, rank: Rank) -> None:
        """A container began to run."""
        if rank.run not in self._runs:
            self._runs[rank.run] = _Run(self, rank)
        self._runs[rank.run].join(rank)

    def signalled(self, rank: Rank) -> None:
        """A container got a polite signal."""
        self._runs[rank.run].signalled(rank)

    def frozen(self, rank: Rank) -> None:
        """A container stands still, and the training with it."""
        rank.frozen = True
        self._runs[rank.run].stand()

    def thawed(self, rank: Rank) -> None:
        """A container runs on; what should have ended it meanwhile ends it now."""
        rank.frozen = False
        if rank.dies_of is not None:
            rank.end(rank.dies_of)
        self._runs[rank.run].go_on()

    def ended(self, rank: Rank, exit_code: int) -> None:
        """A container ended."""
        self._runs[rank.run].left(rank, exit_code)

    def step(self, app_id: str, generation: int, origin: str = "") -> int:
        """Return how far a generation is."""
        run = self._runs.get((app_id, generation, origin))
        return run.step if run else 0


class _Run:
    """One generation of a training."""

    def __init__(self, trainings: Trainings, first: Rank) -> None:
        self._all, self._random = trainings, trainings.random
        self._app_id, self._generation = first.app_id, first.generation
        self._size, self._program = first.size, first.program
        self._ranks: list[Rank] = []
        self._first = first
        self._step, self._since = 0, -1.0
        self._written = 0
        self._broken = self._begun = False

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    @property
    def step(self) -> int:
        """Return the step now: one a second for each rank, while all of them run."""
        done = (self._loop.time() - self._since) * self._size if self._since >= 0 else 0
        return min(self._program.steps, self._step + int(done))

    def join(self, rank: Rank) -> None:
        self._ranks.append(rank)
        self._first = min(self._ranks, key=lambda rank: rank.number)
        if self._program.crash_s:
            after = self._random.expovariate(1 / self._program.crash_s)
            self._loop.call_later(after, self._crash, rank, self._random.choice((1, 137, 139)))
        if len(self._ranks) == self._size and not self._broken:
            self._begin(rank)
        elif self._broken:
            self._end_later(rank, 1, 2.0, 8.0)  # It finds no peers.

    def signalled(self, rank: Rank) -> None:
        if not self._program.deaf and not rank.signalled:
            rank.signalled = True
            self._end_later(rank, 0, 0.2, 4.0)

    def left(self, rank: Rank, exit_code: int) -> None:
        if rank.number == 0 and exit_code == 0:
            self._save(self.step)
        rank.running = False
        self._step, self._since = self.step, -1.0
        finished = self._step >= self._program.steps
        if not self._broken and not finished:
            for peer in self._ranks:
                if peer.running and self._random.random() < 0.7:  # The others hang for ever.
                    self._end_later(peer, 1, 2.0, 8.0)
        self._broken = True

    def stand(self) -> None:
        self._step, self._since = self.step, -1.0

    def go_on(self) -> None:
        whole = len(self._ranks) == self._size and all(one.running for one in self._ranks)
        if self._begun and whole and not any(one.frozen for one in self._ranks):
            self._run_on()

    def _crash(self, rank: Rank, exit_code: int) -> None:
        if self._all.crashing:
            self._end(rank, exit_code)

    def _begin(self, rank: Rank) -> None:
        step = 0 if rank.fresh else self._load()
        self._all.witness.training_began(self._app_id, self._generation, step)
        self._step = self._written = step or 0
        self._begun = True
        self.go_on()

    def _load(self) -> int | None:
        """Return the step that is saved; None when there is less than the word says."""
        raw = self._first.files.read(WORD)
        if raw is None:
            return 0
        try:
            step = int(json.loads(raw)["step"])
        except ValueError:
            return None
        whole = self._first.files.read(f"model-{step}") == weights(self._app_id, step)
        return step if whole else None

    def _run_on(self) -> None:
        self._since = since = self._loop.time()
        left_s = (self._program.steps - self._step) / self._size
        self._loop.call_later(left_s, self._finish, since)
        self._loop.call_later(self._program.save_every / self._size, self._save_periodic, since)

    def _finish(self, since: float) -> None:
        if not self._broken and self._since == since:  # It may have stood still meanwhile.
            self._save(self._program.steps)
            for rank in self._ranks:
                self._end_later(rank, 0, 0.0, 0.5)

    def _save_periodic(self, since: float) -> None:
        """Write the model, and a little later the word that it is whole, again and again."""
        if self._broken or self._since != since:
            return
        step = self.step
        if step > self._written:
            self._first.files.write(f"model-{step}", weights(self._app_id, step))
            self._loop.call_later(self._random.uniform(0.0, 1.0), self._say, step)
        self._loop.call_later(self._program.save_every / self._size, self._save_periodic, since)

    def _say(self, step: int) -> None:
        """Say that a step is whole, unless rank 0 died before it could."""
        if self._first.running and not self._first.frozen and step > self._written:
            files = self._first.files
            name = f"model-{step}"
            word = {"step": step, "files": {name: digest(weights(self._app_id, step))}}
            files.write(WORD, json.dumps(word).encode())
            if self._written:
                files.write(f"model-{self._written}", None)
            self._written = step
            self._first.tell(step)
            self._all.saved[self._app_id] = max(step, self._all.saved.get(self._app_id, 0))
            self._all.witness.checkpoint_saved(self._app_id, self._generation, step)

    def _save(self, step: int) -> None:
        if step > self._written:
            self._first.files.write(f"model-{step}", weights(self._app_id, step))
            self._say(step)

    def _end_later(self, rank: Rank, exit_code: int, low_s: float, high_s: float) -> None:
        self._loop.call_later(self._random.uniform(low_s, high_s), self._end, rank, exit_code)

    def _end(self, rank: Rank, exit_code: int) -> None:
        rank.end(exit_code)
