"""What is known of one application: its partition, its containers, what it has shown of itself."""

from collections.abc import Mapping

import attrs

from events.apps import AppSpec
from events.generations import Member
from events.layouts import Partition
from events.units import Resources


@attrs.frozen(kw_only=True)
class Exit:
    """How one container ended. Fields as in `ContainerExited`."""

    exit_code: int | None
    reason: str
    message: str = ""
    final: bool = False

    @property
    def failed(self) -> bool:
        """Return whether this end is a failure when nobody asked for it."""
        return self.reason != "exited" or self.exit_code != 0


@attrs.frozen(kw_only=True)
class Stop:
    """A stop that was asked for.

    Attributes:
        cause: `resize`, `cancel` or `failure`.
        at_ms: When, by `ClusterState.now_ms`.
    """

    cause: str
    reason: str
    revision: int
    at_ms: int = 0


@attrs.frozen(kw_only=True)
class Checkpoint:
    """A checkpoint that is kept. Fields as in `CheckpointSaved`.

    Attributes:
        rejected: Why it was found damaged; empty while it was not.
    """

    generation: int
    step: int
    manifest_sha256: str
    rejected: str = ""

    @property
    def position(self) -> tuple[int, int]:
        """Return what grows from each saved checkpoint of an application to the next."""
        return self.generation, self.step


@attrs.frozen(kw_only=True, slots=False)  # see `events.evolving`
class Generation:
    """The containers that exist, or may exist, for one application.

    Attributes:
        input_revision: Of the decision that the members follow from.
        origin: Id of the event that started it. Numbers come again when the store is restored
            from a backup; ids of events never do.
        epoch: Of the store, when it was started.
        first_step: The step that it goes on from.
        seeds: The checkpoints that it may start from, in the order in which they are tried;
            `rejected` are those that this generation found damaged.
        started: Ranks that an agent has seen running.
        running_since_ms: When the last of them was seen running; None before.
        exits: By rank; a rank in here is gone for good.
    """

    number: int
    members: tuple[Member, ...]
    started_revision: int
    origin: str = ""
    epoch: int = 1
    input_revision: int = 0
    first_step: int = 0
    seeds: tuple[Checkpoint, ...] = ()
    started: tuple[int, ...] = ()
    running_since_ms: int | None = None
    exits: Mapping[int, Exit] = attrs.field(factory=dict)
    stop: Stop | None = None

    @property
    def live(self) -> tuple[Member, ...]:
        """Return the members that have not been seen gone."""
        if not self.exits:
            return self.members
        return tuple(member for member in self.members if member.rank not in self.exits)

    @property
    def seed(self) -> Checkpoint | None:
        """Return the checkpoint to start from; None when there is none, or none that is whole."""
        return next((seed for seed in self.seeds if not seed.rejected), None)

    @property
    def first_failure(self) -> tuple[int, Exit] | None:
        """Return rank and exit of the lowest failed rank, or None."""
        failed = [(rank, exit_) for rank, exit_ in sorted(self.exits.items()) if exit_.failed]
        return failed[0] if failed else None


@attrs.frozen(kw_only=True)
class Backoff:
    """A wait after a failed generation.

    Attributes:
        revision: Where the wait began; tells it from an earlier one.
        retry_at_ms: When it is about over, for people only.
    """

    wait_ms: int
    reason: str
    revision: int
    retry_at_ms: int


@attrs.frozen(kw_only=True)
class Outcome:
    """How an application ended. `kind` is `completed`, `failed` or `cancelled`."""

    kind: str
    reason: str
    revision: int
    at_ms: int


@attrs.frozen(kw_only=True)
class Progress:
    """What was trained at one size, in sum."""

    steps: int = 0
    ms: int = 0


@attrs.frozen(kw_only=True)
class Measured:
    """What an application has shown of itself while it was run and moved.

    Attributes:
        restart_ms: From a stop request to the start of the last container of the next generation:
            what a touch costs. Smoothed; 0 while it was never measured.
        moving_since_ms: When the move under way began; None when there is none, or when it is
            not to be measured because more than the move takes time.
        last_step: Of the newest checkpoint report; it goes back when a training begins anew.
        speeds: What was trained at which number of containers, the newest size last.
    """

    restart_ms: int = 0
    moving_since_ms: int | None = None
    last_step: int = 0
    speeds: Mapping[int, Progress] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True, slots=False)  # see `events.evolving`
class App:
    """One application.

    Attributes:
        partition: What the newest layout grants it; the containers follow.
        target_generation: The number that those containers carry; 0 before the first decision.
        decided_reason: Why the layout granted this.
        input_revision: The state that the layout granted this from.
        generation: The containers that exist now; an older number than the target while a resize
            is under way.
        last_generation: The highest number ever started.
        failures: Failed generations in a row, without saved progress between them.
        failure: The failure that lifecycle has not answered yet.
        failure_counts: It uses up a retry.
        failure_final: No retry mends it.
        checkpoint_step: The highest step of a complete checkpoint that an agent reported.
        checkpoints: Those that are kept, the newest first.
        failed_step: `checkpoint_step` at the last failure.
        resizes: How often a running generation was stopped for another one.
        quarantine: Why layouts are decided without this application; empty when they are not.
        waiting_since_ms: When it last had no partition any more, or not yet.
        disturbed_at_ms: When a partition that it had was last changed; None before.
        measured: What it has shown of itself.
    """

    app_id: str
    spec: AppSpec
    submitted_revision: int
    submitted_at_ms: int
    user: str
    partition: Partition = attrs.field(factory=dict)
    target_generation: int = 0
    decided_reason: str = ""
    input_revision: int = 0
    generation: Generation | None = None
    last_generation: int = 0
    cancel_requested: bool = False
    failures: int = 0
    failure: str = ""
    failure_counts: bool = True
    failure_final: bool = False
    backoff: Backoff | None = None
    checkpoint_step: int | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    failed_step: int | None = None
    resizes: int = 0
    quarantine: str = ""
    waiting_since_ms: int = 0
    disturbed_at_ms: int | None = None
    measured: Measured = Measured()
    outcome: Outcome | None = None

    @property
    def phase(self) -> str:
        """Return the one word that `dorm ps` shows."""
        if self.outcome:
            return self.outcome.kind
        generation = self.generation
        if generation is None:
            if self.cancel_requested:
                return "cancelling"
            return "backoff" if self.backoff or self.failure else "pending"
        if generation.stop:
            return {"resize": "resizing", "cancel": "cancelling"}.get(
                generation.stop.cause, "failing"
            )
        return "running" if len(generation.started) == len(generation.members) else "starting"

    @property
    def seeds(self) -> tuple[Checkpoint, ...]:
        """Return what a generation that starts now may start from, in the order to try it in.

        The newest first, but last what was found damaged: it may have been the disk of that node.
        """
        tried = sorted(self.checkpoints, key=lambda one: bool(one.rejected))  # else as they stand
        return tuple(attrs.evolve(one, rejected="") for one in tried)

    @property
    def restart_ms(self) -> int:
        """Return what a touch costs it, measured; 0 while that is not known."""
        return self.measured.restart_ms

    @property
    def speeds(self) -> Mapping[int, Progress]:
        """Return what it trained at which number of containers."""
        return self.measured.speeds

    @property
    def demand(self) -> Resources:
        """Return the demand of one container."""
        return self.spec.resources
