"""How far the trainings of this node are, as their rank 0 last wrote it.

Containers write these files, so what is in them is checked and never trusted: a file that makes
no sense is as good as none.
"""

import msgspec

from dorm.agent.paths import Paths
from dorm.ports import Files
from dorm.status import Progress
from events.codec import from_json
from events.errors import Corrupt, Unavailable
from reconcilers.documents import NodeDocument


class _Written(msgspec.Struct):
    """What a training writes, such as `{"step": 120, "total": 400}`; only `step` is needed."""

    step: int
    total: int | None = None
    loss: float | None = None


async def read_all(files: Files, paths: Paths, document: NodeDocument) -> dict[str, Progress]:
    """Return the progress by application id, for those whose rank 0 is on this node."""
    found = {}
    for wanted in document.containers:
        if wanted.rank != 0:
            continue
        written = await _read(files, paths.progress(wanted.name))
        if written is not None:
            found[wanted.app_id] = Progress(
                generation=wanted.generation,
                step=written.step,
                total=written.total,
                loss=written.loss,
            )
    return found


async def _read(files: Files, path: str) -> _Written | None:
    try:
        raw = await files.read(path)
        return from_json(raw, _Written) if raw else None
    except (Corrupt, Unavailable):
        return None
