"""The life of one generation of containers: started, asked to stop, seen gone."""

import attrs
from attrs.validators import ge, in_

EXIT_REASONS = ("exited", "oom", "killed", "lost", "start_error")


@attrs.frozen(kw_only=True)
class Member:
    """One container of a generation.

    Attributes:
        rank: Position in the generation, from 0.
        port: Reserved for this container on its node, for rendezvous with its peers.
        devices: UUIDs of its GPUs.
    """

    rank: int = attrs.field(validator=ge(0))
    node_id: str
    port: int
    devices: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class GenerationStarted:
    """The room is free and nothing of an older generation is left: these containers may run."""

    app_id: str
    generation: int = attrs.field(validator=ge(1))
    members: tuple[Member, ...]

    def __attrs_post_init__(self) -> None:
        """Refuse members that are not in rank order, from 0 without a gap."""
        if [member.rank for member in self.members] != list(range(len(self.members))):
            msg = f"{self.app_id}: ranks are not 0 to {len(self.members) - 1} in order"
            raise ValueError(msg)


@attrs.frozen(kw_only=True)
class CheckpointRequested:
    """The generation is to save its work and end, because the partition changes."""

    app_id: str
    generation: int
    reason: str = ""


@attrs.frozen(kw_only=True)
class StopRequested:
    """The generation is to end; nobody waits for its work (a cancel, or a failed peer)."""

    app_id: str
    generation: int
    cause: str = attrs.field(validator=in_(("cancel", "failure")))
    reason: str = ""


@attrs.frozen(kw_only=True)
class ContainerStarted:
    """An agent saw the container running."""

    app_id: str
    generation: int
    rank: int
    node_id: str


@attrs.frozen(kw_only=True)
class ContainerExited:
    """An agent saw the container gone for good; nothing of it can run again.

    Attributes:
        exit_code: None when the container was never seen to end (lost, or it never started).
        reason: `exited` by itself or after the signal; `oom`; `killed` by us when the grace time
            was over; `lost`: it is not there any more, or ended because its engine or its machine
            went down; `start_error`: the engine could not start it.
        final: No retry mends it, such as a command that is not in the image.
        message: For people, such as the engine's error.
        checkpoint_step: The step of the newest complete checkpoint, when rank 0 left one.
    """

    app_id: str
    generation: int
    rank: int
    node_id: str
    exit_code: int | None = None
    reason: str = attrs.field(default="exited", validator=in_(EXIT_REASONS))
    final: bool = False
    message: str = ""
    checkpoint_step: int | None = None


@attrs.frozen(kw_only=True)
class GenerationStopped:
    """Every container of the generation has been seen gone, after a stop was requested."""

    app_id: str
    generation: int
