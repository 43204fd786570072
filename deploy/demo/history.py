"""What the trainings did, by their own output, and what must be true of it. Pure."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

STEPS_TO_JUDGE: Final = 20  # a loss needs so many steps until its fall is more than noise
_LINE: Final = re.compile(r"step=(\d+) loss=([0-9.]+) world_size=(\d+) generation=(\d+)")


class ClaimFailed(Exception):
    """Something that the demo claims was not so; it ends the demo."""


def claim(true: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Insist on a claim.

    Raises:
        ClaimFailed: It is not true.
    """
    if not true:
        raise ClaimFailed(otherwise)


@attrs.frozen(kw_only=True)
class Stretch:
    """What one generation did: from its first line of output to its last."""

    generation: int
    size: int
    first_step: int
    first_loss: float
    last_step: int
    last_loss: float

    def __str__(self) -> str:
        """Return it in a few words."""
        return (
            f"{self.size} containers, steps {self.first_step} to {self.last_step}, "
            f"loss {self.last_loss:.3f}"
        )


def stretch_of(output: str) -> Stretch | None:
    """Return what a generation's rank 0 printed, summed up; None when it printed no step."""
    lines = _LINE.findall(output)
    if not lines:
        return None
    (first_step, first_loss, size, generation), (last_step, last_loss, _, _) = lines[0], lines[-1]
    return Stretch(
        generation=int(generation),
        size=int(size),
        first_step=int(first_step),
        first_loss=float(first_loss),
        last_step=int(last_step),
        last_loss=float(last_loss),
    )


def check_course(name: str, course: Sequence[Stretch], saved: Mapping[int, int]) -> None:
    """Check the generations of one application, in order.

    Args:
        name: Of the application.
        course: What each generation did.
        saved: By generation, the step of the checkpoint that it left.

    Raises:
        ClaimFailed: A generation began before the last checkpoint, or the loss did not fall.
    """
    for before, after in pairwise(course):
        step = max((saved[number] for number in saved if number <= before.generation), default=0)
        claim(
            after.first_step >= step,
            f"{name}: step {step} was saved, but generation {after.generation} began again at "
            f"step {after.first_step}",
        )
        claim(
            after.last_step - before.last_step < STEPS_TO_JUDGE
            or after.last_loss < before.last_loss,
            f"{name}: the loss was {before.last_loss:.4f} at the end of generation "
            f"{before.generation} and {after.last_loss:.4f} at the end of {after.generation}",
        )


def saved_steps(events: Sequence[Mapping[str, Any]], app_id: str) -> dict[int, int]:
    """Return the step of the checkpoint that each generation of an application left."""
    saved: dict[int, int] = {}
    for event in events:
        data = event["data"]
        if event["kind"].startswith("container.exited/") and data["app_id"] == app_id:
            step = data.get("checkpoint_step")
            if step is not None:
                saved[data["generation"]] = max(step, saved.get(data["generation"], 0))
    return saved


def restarted(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the containers, by short id, that were started again or are gone.

    Args:
        before: When each container started, by its id.
        after: The same, later.
    """
    return [ident[:12] for ident, start in sorted(before.items()) if after.get(ident) != start]
