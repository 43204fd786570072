"""Which step the newest complete checkpoint is of, by the application's own word.

An application writes `checkpoint.json` into its checkpoint directory, in one step and last of all,
when the checkpoint is complete.
"""

from typing import Final

import msgspec

from dorm.agent.launch import checkpoint_directory
from dorm.config import AgentConfig
from dorm.ports import Files
from events.codec import from_json
from events.errors import Corrupt, Rejected, Unavailable
from reconcilers.documents import WantedContainer

FILE_NAME: Final = "checkpoint.json"


class _Checkpoint(msgspec.Struct):
    step: int


async def newest_step(files: Files, wanted: WantedContainer, config: AgentConfig) -> int | None:
    """Return the step of the newest complete checkpoint, or None when there is none to be seen."""
    try:
        directory = checkpoint_directory(wanted, config)
        raw = await files.read(f"{directory.path}/{FILE_NAME}") if directory else None
        return from_json(raw, _Checkpoint).step if raw else None
    except (Rejected, Corrupt, Unavailable):
        return None
