"""How a container ended: its exit, in the words of the log."""

from collections.abc import Container
from typing import Final, Literal

import attrs

Key = tuple[str, int, int]
"""Application, generation, rank: what identifies a container in the whole cluster."""

ContainerState = Literal["created", "running", "exited"]

EXIT_CODE_SIGKILL: Final = 137
NOT_EXECUTED: Final = (126, 127)  # the command is not there, or may not be executed


@attrs.frozen(kw_only=True)
class SeenContainer:
    """One container of this cluster and node, as the engine lists it.

    Attributes:
        revision: Of the document that it was created from (a label).
        epoch: Of that document (a label).
        origin: Id of the event that started its generation (a label).
        exit_code: Only meaningful when `state` is `exited`.
        oom_killed: Whether a process in it was killed for memory.
        error: Why its command could not be started, if it could not.
        tenure: Of the node, in which it was made (a label); empty when in none.
        interrupted: Whether it may have ended because its engine or its machine went down, so
            that its exit code says nothing.
    """

    name: str
    app_id: str
    generation: int
    rank: int
    revision: int
    state: ContainerState
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    epoch: int = 1
    origin: str = ""
    tenure: str = ""
    interrupted: bool = False

    @property
    def key(self) -> Key:
        """Return what identifies the container in the whole cluster, within an epoch."""
        return self.app_id, self.generation, self.rank


@attrs.frozen(kw_only=True)
class Refusal:
    """Why the engine will never make or start a container; `final` if no other one could either."""

    message: str
    final: bool = False


@attrs.frozen(kw_only=True)
class ReportExited:
    """Report that the container is gone for good. The fields are those of `ContainerExited`."""

    key: Key
    exit_code: int | None
    reason: str
    final: bool = False
    message: str = ""


def exit_of(
    seen: SeenContainer, *, signalled: Container[Key], killed: Container[Key]
) -> ReportExited:
    """Return what to report of a container that has exited.

    Args:
        seen: The container.
        signalled: Who knows its stop signal.
        killed: Who knows SIGKILL.
    """
    key, code = seen.key, seen.exit_code
    if refusal := refusal_of(seen):
        return start_error(key, refusal)
    if seen.oom_killed and code != 0:
        message = "a process was killed because the container was out of memory"
        return ReportExited(key=key, exit_code=code, reason="oom", message=message)
    if code == EXIT_CODE_SIGKILL and key in killed:
        message = "killed when its grace time was over"
        return ReportExited(key=key, exit_code=code, reason="killed", message=message)
    if seen.interrupted and key not in signalled:
        message = "ended while its Docker engine or its machine was down"
        return ReportExited(key=key, exit_code=code, reason="lost", message=message)
    return ReportExited(key=key, exit_code=code, reason="exited")


def lost(key: Key, message: str) -> ReportExited:
    """Return what to report of one that is not there."""
    return ReportExited(key=key, exit_code=None, reason="lost", message=message)


def refusal_of(seen: SeenContainer) -> Refusal | None:
    """Return why the engine could not start a container; None if it could."""
    if not seen.error:
        return None
    return Refusal(message=seen.error, final=seen.exit_code in NOT_EXECUTED)


def start_error(key: Key, why: Refusal) -> ReportExited:
    """Return what to report of one that never ran."""
    return ReportExited(
        key=key, exit_code=None, reason="start_error", final=why.final, message=why.message
    )
