"""Short ways to say what becomes of checkpoints; see `tests.builders`."""

from typing import Any

from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.codec import digest


def checkpoint_saved(
    app_id: str = "a",
    *,
    generation: int = 1,
    node_id: str = "n1",
    step: int = 100,
    **more: Any,  # noqa: ANN401 - any other field of the event
) -> CheckpointSaved:
    """A checkpoint is kept; unless told otherwise, its manifest's hash follows from its place."""
    fields = {"manifest_sha256": digest(f"{app_id}/{generation}/{step}".encode()), **more}
    return CheckpointSaved(
        app_id=app_id, generation=generation, node_id=node_id, step=step, **fields
    )


def checkpoint_rejected(
    app_id: str = "a",
    *,
    generation: int = 2,
    node_id: str = "n1",
    saved_generation: int = 1,
    step: int = 100,
    reason: str = "model.npz has other content than its manifest says",
) -> CheckpointRejected:
    """A kept checkpoint is found damaged."""
    return CheckpointRejected(
        app_id=app_id,
        generation=generation,
        node_id=node_id,
        saved_generation=saved_generation,
        step=step,
        reason=reason,
    )
