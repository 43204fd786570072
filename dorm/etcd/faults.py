"""What an error of etcd or grpc means for the caller."""

from enum import Enum, auto
from typing import Final

from grpc import StatusCode
from grpc.aio import AioRpcError

from events.errors import DormError, NoSpace, Rejected, Unavailable

_AMBIGUOUS: Final = frozenset(
    {
        StatusCode.UNAVAILABLE,
        StatusCode.DEADLINE_EXCEEDED,
        StatusCode.UNKNOWN,
        StatusCode.INTERNAL,
        StatusCode.CANCELLED,
    }
)
_NO_SPACE: Final = "database space exceeded"
_TOO_MANY: Final = "too many requests"


class Reaction(Enum):
    """What to do about a failed try."""

    TRY_ELSEWHERE = auto()
    GIVE_UP = auto()


def reaction(error: AioRpcError) -> Reaction:
    """Tell whether another member, or the same one later, may answer better."""
    if error.code() in _AMBIGUOUS or _TOO_MANY in details(error):
        return Reaction.TRY_ELSEWHERE
    return Reaction.GIVE_UP


def details(error: AioRpcError) -> str:
    """Return the words of etcd."""
    return error.details() or ""


def translate(error: AioRpcError, *, what: str) -> DormError:
    """Return the error of ours that says what to do next."""
    words = details(error)
    if _NO_SPACE in words:
        return NoSpace(
            f"etcd refuses {what}: its database is full; nothing is lost, but nothing new is "
            "recorded until an operator makes room with dorm admin reclaim"
        )
    if reaction(error) is Reaction.TRY_ELSEWHERE:
        return Unavailable(f"etcd did not answer {what}: {error.code().name} {words}")
    return Rejected(
        f"was refused by etcd: {words or error.code().name}",
        field=what,
        hint="a request has at most 128 operations and 1.5 MiB, and its lease must be alive",
    )
