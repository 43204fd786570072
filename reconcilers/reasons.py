"""The closed list of reasons why an application is where it is."""

from collections.abc import Mapping
from enum import StrEnum

import attrs


class ReasonCode(StrEnum):
    """Every reason there is; tools may switch over them, and none is ever renamed."""

    RUNNING = "Running"
    STARTING = "Starting"
    RESIZING = "Resizing"
    CANCELLING = "Cancelling"
    FINISHED = "Finished"
    FAILED = "Failed"
    BACKOFF = "Backoff"
    QUARANTINED = "Quarantined"
    NO_NODES = "NoNodes"
    NEVER_FITS = "NeverFits"
    NOT_ENOUGH_ROOM = "NotEnoughRoom"
    AWAITING_DECISION = "AwaitingDecision"
    WAITING_FOR_CHECKPOINT = "WaitingForCheckpoint"
    WAITING_FOR_RELEASE = "WaitingForRelease"


@attrs.frozen(kw_only=True)
class Reason:
    """Why an application is where it is.

    Attributes:
        message: One sentence with the numbers in it.
        hint: What would help; empty when there is nothing to do.
        numbers: The numbers of the message, for tools.
    """

    code: ReasonCode
    message: str
    hint: str = ""
    numbers: Mapping[str, int] = attrs.field(factory=dict)


def some(names: list[str] | tuple[str, ...], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
