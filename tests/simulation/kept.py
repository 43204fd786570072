"""The checker's eye on checkpoints (I4)."""

from collections.abc import Callable

from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.recorded import Recorded
from events.state import ClusterState


class CheckpointChecks:
    """Checks that what is kept is whole, and that trainings go on from it.

    Attributes:
        steps: The highest step that was ever written, by application.
    """

    def __init__(self, require: Callable[[bool, str], None], tell: Callable[[str], None]) -> None:
        """Take the checker's voice."""
        self.steps: dict[str, int] = {}
        self._require, self._tell = require, tell
        self._written: set[tuple[str, int, int]] = set()
        self._damaged: set[tuple[str, int, int]] = set()

    def began(self, state: ClusterState, app_id: str, generation: int, step: int | None) -> None:
        """See a training go on from `step`: what the log says that it starts from."""
        self._tell(f"train {app_id} generation {generation} from {step}")
        app = state.apps.get(app_id)
        running = app.generation if app else None
        if running is None or running.number != generation:
            return  # I2 has more to say about it.
        seed = running.seed
        self._require(
            bool(seed) == bool(running.seeds),
            f"I4 {app_id} generation {generation} runs although no checkpoint is whole",
        )
        expected = seed.step if seed else 0
        self._require(
            step == expected,
            f"I4 {app_id} generation {generation} went on from {step}, saved was {expected}",
        )

    def saved(self, app_id: str, generation: int, step: int) -> None:
        """See a whole checkpoint in the directory of its generation."""
        self._tell(f"checkpoint {app_id} generation {generation} at {step}")
        self.steps[app_id] = max(step, self.steps.get(app_id, 0))
        self._written.add((app_id, generation, step))

    def damaged(self, app_id: str, position: tuple[int, int]) -> None:
        """See a kept checkpoint be damaged."""
        self._tell(f"damage {app_id} {position}")
        self._damaged.add((app_id, *position))

    def is_damaged(self, app_id: str, position: tuple[int, int]) -> bool:
        """Return whether a kept checkpoint was damaged."""
        return (app_id, *position) in self._damaged

    def event(self, recorded: Recorded, before: ClusterState) -> None:
        """See an event that counts; `before` is the state before."""
        match event := recorded.event:
            case CheckpointSaved(app_id=app_id, generation=generation, step=step):
                key = app_id, generation, step
                # Step 0 is what stood there when a container ended that had not said a word yet.
                whole = key in self._written or step == 0
                self._require(whole, f"I4 {key} is kept, and was never whole")
                running = before.apps[app_id].generation
                first = running.first_step if running else 0
                self._require(step >= first, f"I4 {key} is kept after {first}")
            case CheckpointRejected(app_id=app_id):
                key = app_id, event.saved_generation, event.step
                self._require(key in self._damaged, f"I4 {key} is rejected, and is whole")
            case _:
                pass
