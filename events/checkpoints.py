"""What becomes of checkpoints: kept apart once they are whole, or found damaged later."""

import attrs
from attrs.validators import ge


@attrs.frozen(kw_only=True)
class CheckpointSaved:
    """A whole checkpoint is kept where no container can reach it; generations may start from it.

    Attributes:
        generation: The one that made it.
        node_id: Of its rank 0, whose agent keeps it.
        step: What the application calls it; 0 when it does not say.
        manifest_sha256: Of the manifest, which has the sha256 of every file.
    """

    app_id: str
    generation: int = attrs.field(validator=ge(1))
    node_id: str
    step: int = attrs.field(validator=ge(0))
    manifest_sha256: str
    size_bytes: int = 0
    file_count: int = 0


@attrs.frozen(kw_only=True)
class CheckpointRejected:
    """A saved checkpoint was found damaged when a generation was to start from it.

    Attributes:
        generation: The one that was to start from it.
        node_id: Of its rank 0, whose agent looked.
        saved_generation: The one that made the checkpoint.
        step: Of the checkpoint.
        reason: For people: which file, and what is wrong with it.
    """

    app_id: str
    generation: int = attrs.field(validator=ge(1))
    node_id: str
    saved_generation: int
    step: int
    reason: str = ""
