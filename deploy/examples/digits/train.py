"""Data-parallel training on handwritten digits that stops, and goes on at any other size.

Only numpy and the standard library, so that it shows what Dorm asks of a training program:

1. it reads its place from the environment (`DORM_RANK`, `DORM_WORLD_SIZE`, `DORM_MASTER_ADDR` ...);
2. on SIGTERM all ranks agree on the last step, rank 0 saves, everybody leaves with 0;
3. started with `DORM_RESUME=1`, it goes on from what was saved;
4. rank 0 writes how far it is into `DORM_PROGRESS_FILE`.

The global batch is the same at every size (each rank takes every `size`-th sample of it), so a
resize changes the speed and not the mathematics.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import checkpoint
import numpy as np
from group import Group, Place
from model import PIXELS, Floats, Model, loss_and_gradient
from numpy.typing import NDArray

REPORT_S = 0.5
LOG_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the environment tells beside the place. The defaults run one rank by hand."""

    resume: bool = os.environ.get("DORM_RESUME", "0") == "1"
    checkpoints: str = os.environ.get("DORM_CHECKPOINT_DIR", "")
    progress: str = os.environ.get("DORM_PROGRESS_FILE", "")
    data: str = os.environ.get("DATA", str(Path(__file__).with_name("digits.csv.gz")))
    steps: int = int(os.environ.get("STEPS", "400"))
    batch: int = int(os.environ.get("BATCH", "120"))
    seed: int = int(os.environ.get("SEED", "1"))
    save_every: int = int(os.environ.get("CHECKPOINT_EVERY", "100"))
    # Stands for the work of a real model: this long for a whole batch, shared by the ranks.
    step_cost_ms: float = float(os.environ.get("STEP_COST_MS", "0"))


def place_from_environment() -> Place:
    """Return this container's place among its peers, as Dorm tells it."""
    return Place(
        rank=int(os.environ.get("DORM_RANK", "0")),
        size=int(os.environ.get("DORM_WORLD_SIZE", "1")),
        generation=int(os.environ.get("DORM_GENERATION", "1")),
        master=os.environ.get("DORM_MASTER_ADDR", "127.0.0.1"),
        port=int(os.environ.get("DORM_MASTER_PORT", "29500")),
    )


class StopFlag:
    """Whether the order to stop has come. The handler does nothing but remember it."""

    def __init__(self) -> None:
        """Listen for SIGTERM from now on."""
        self.raised = False
        signal.signal(signal.SIGTERM, self._raise)

    def _raise(self, _number: int, _frame: FrameType | None) -> None:
        self.raised = True

    def no_longer_needed(self) -> None:
        """Ignore SIGTERM from now on; at its exit Python would restore what kills the process."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def leave_if_raised(self) -> None:
        """End the program. Only before training, when there is nothing to save."""
        if self.raised:
            sys.exit(0)


class Reporter:
    """Tells how far the training is: a progress file for Dorm, a line a second for people."""

    def __init__(self, place: Place, settings: Settings, samples: tuple[Floats, Floats]) -> None:
        """Say nothing yet."""
        self._place, self._settings, self._samples = place, settings, samples
        self._report_at = self._log_at = 0.0

    def loss(self, model: Model) -> float:
        """Return the mean loss over all samples, which unlike a batch's falls smoothly."""
        total, _ = loss_and_gradient(model.weights, *self._samples)
        return total / len(self._samples[1])

    def report(self, model: Model, *, now: bool = False) -> None:
        """Report if it is time, or `now`. Only rank 0 does."""
        clock = time.monotonic()
        if self._place.rank != 0 or (clock < self._report_at and not now):
            return
        self._report_at = clock + REPORT_S
        loss = self.loss(model)
        if clock >= self._log_at or now:
            self._log_at = clock + LOG_S
            print(
                f"step={model.step} loss={loss:.4f} world_size={self._place.size} "
                f"generation={self._place.generation}",
                flush=True,
            )
        if self._settings.progress:
            progress = {
                "step": model.step,
                "total": self._settings.steps,
                "loss": round(loss, 6),
                "generation": self._place.generation,
            }
            path = Path(self._settings.progress)
            scratch = path.with_name(f".{path.name}.tmp")
            scratch.write_text(json.dumps(progress))
            scratch.replace(path)  # Dorm never reads half a file

    def save(self, model: Model) -> None:
        """Save a checkpoint. Only rank 0 does."""
        if self._place.rank == 0 and self._settings.checkpoints:
            checkpoint.save(
                model,
                Path(self._settings.checkpoints),
                loss=self.loss(model),
                generation=self._place.generation,
            )


def shard(settings: Settings, place: Place, step: int, count: int) -> NDArray[np.int64]:
    """Return this rank's part of the step's global batch."""
    batch = np.random.default_rng((settings.seed, step)).choice(count, settings.batch)
    return batch[place.rank :: place.size]


def train(
    settings: Settings, place: Place, model: Model, samples: tuple[Floats, Floats], stop: StopFlag
) -> Iterator[None]:
    """Take steps, until the last one or until any rank was told to stop; come up after each."""
    group = Group(place, stop.leave_if_raised)
    start = model.pack() if place.rank == 0 else None  # so that only rank 0 need see the files
    model.become(group.broadcast(start))
    yield
    pixels, labels = samples
    told_to_stop = False
    while model.step < settings.steps and not told_to_stop:
        mine = shard(settings, place, model.step, len(labels))
        _, gradient = loss_and_gradient(model.weights, pixels[mine], labels[mine])
        time.sleep(settings.step_cost_ms / 1000.0 / place.size)
        # The order to stop travels with the gradients, so all ranks leave after the same step.
        total = group.sum(np.concatenate(([float(stop.raised)], gradient)))
        told_to_stop = bool(total[0])
        model.learn(total[1:] / settings.batch)
        yield


def main() -> int:
    """Train, save, and leave."""
    settings, place, stop = Settings(), place_from_environment(), StopFlag()
    table = np.loadtxt(settings.data, delimiter=",")
    samples = table[:, :PIXELS] / 16.0, table[:, PIXELS]
    reporter = Reporter(place, settings, samples)
    saved = checkpoint.load(Path(settings.checkpoints)) if settings.resume else None
    model = saved or Model.fresh(settings.seed)
    saved_step = model.step
    for _ in train(settings, place, model, samples, stop):
        reporter.report(model)
        if model.step >= saved_step + settings.save_every:
            reporter.save(model)
            saved_step = model.step
    stop.no_longer_needed()
    if model.step > saved_step:
        reporter.save(model)
    reporter.report(model, now=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, TimeoutError) as error:
        sys.exit(f"a peer is gone, so this rank ends too: {error}")
