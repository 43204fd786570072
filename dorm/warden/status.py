"""What the warden saw at its last look; by it the agent knows that it is alive."""

import json
from pathlib import Path
from typing import Final

import attrs

from dorm.warden import machine

VERSION: Final = 1
"""Of what agent and warden agree on. An agent replaces a warden of another version."""


@attrs.frozen(kw_only=True)
class GroupStatus:
    """One group.

    Attributes:
        state: `running`, `frozen`, or `freezing` while some process still waits for a disk.
        verdict: What the permit says of it: `valid`, `lapsed`, `over` or `unknown`.
    """

    tenure: str
    on_disconnect: str
    state: str
    populated: bool
    verdict: str


@attrs.frozen(kw_only=True)
class Status:
    """The content of the status file.

    Attributes:
        alive_s: When it was written, in seconds since the machine's boot.
        cgroups: By which cgroups it guards.
        error: What could not be done at the last look; empty when all could.
    """

    version: int
    pid: int
    alive_s: float
    cgroups: str
    tenure: str
    deadline_s: float
    groups: tuple[GroupStatus, ...]
    error: str = ""


def write(path: Path, status: Status) -> None:
    """Replace the status.

    Raises:
        OSError: The old one is there still.
    """
    machine.replace(path, json.dumps(attrs.asdict(status)).encode())


def read(path: Path) -> Status | None:
    """Return what the last warden wrote, or None when there is nothing readable."""
    raw = machine.read_own(path)
    if raw is None:
        return None
    try:
        row = json.loads(raw)
        return Status(**row | {"groups": tuple(GroupStatus(**one) for one in row["groups"])})
    except (ValueError, TypeError, KeyError):
        return None
