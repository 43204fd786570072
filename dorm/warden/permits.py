"""The permit file: written by the agent, read by the warden.

    {"tenure": "k3j9x0qz", "deadline_s": 81234.5, "boot_id": "..."}

The deadline counts from the machine's boot, so a permit of an earlier boot is none: it could seem
valid for days. A damaged file, or one that another user could have written, is none either; without
a permit containers are frozen, which costs time only.
"""

import json
import math
import re
from pathlib import Path
from typing import Final

from dorm.warden import machine
from reconcilers.warden import Permit

TENURE: Final = re.compile(r"[a-z0-9]{1,64}", re.ASCII)  # it is the name of a directory too


def write(path: Path, permit: Permit) -> None:
    """Replace the permit.

    Raises:
        OSError: The old one is there still.
    """
    assert TENURE.fullmatch(permit.tenure), permit
    assert math.isfinite(permit.deadline_s), permit
    row = {
        "tenure": permit.tenure,
        "deadline_s": permit.deadline_s,
        "boot_id": machine.boot_id(),
    }
    machine.replace(path, json.dumps(row).encode())


def read(path: Path) -> Permit | None:
    """Return the permit of this boot, or None when there is no sound one."""
    raw = machine.read_own(path)
    if raw is None:
        return None
    try:
        row = json.loads(raw)
        permit = Permit(tenure=row["tenure"], deadline_s=float(row["deadline_s"]))
        sound = (
            TENURE.fullmatch(permit.tenure)
            and math.isfinite(permit.deadline_s)
            and row["boot_id"] == machine.boot_id()
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return permit if sound else None
