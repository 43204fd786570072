"""Everything Dorm knows at one position of the log, as one immutable value."""

from collections.abc import Iterator, Mapping

import attrs

from events.apps import AppSpec
from events.generations import Member
from events.layouts import LayoutDecided, LayoutQuality, Partition
from events.nodes import NodeReported
from events.policy import LayoutRules
from events.units import Resources


@attrs.frozen(kw_only=True)
class Exit:
    """How one container ended. Fields as in `ContainerExited`."""

    exit_code: int | None
    reason: str
    message: str = ""

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


@attrs.frozen(kw_only=True, slots=False)  # see `events.evolving`
class Generation:
    """The containers that exist, or may exist, for one application.

    Attributes:
        input_revision: Of the decision that the members follow from.
        origin: Id of the event that started it. Numbers come again when the store is restored
            from a backup; ids of events never do.
        epoch: Of the store, when it was started.
        first_step: The step that it goes on from.
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
        checkpoint_step: Step of the newest complete checkpoint that an agent reported.
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
    backoff: Backoff | None = None
    checkpoint_step: int | None = None
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


@attrs.frozen(kw_only=True)
class Node:
    """One machine. A lost node keeps its last report: its containers may well be running.

    Attributes:
        reported_revision: Where the description, the agent's incarnation apart, last changed.
    """

    report: NodeReported
    lost: bool = False
    reported_revision: int = 0

    @property
    def node_id(self) -> str:
        """Return the node's name."""
        return self.report.node_id


@attrs.frozen(kw_only=True)
class LastDecision:
    """The newest complete layout decision, without what it changed.

    Attributes:
        revision: Where its last part stands.
        at_ms: When, by `ClusterState.now_ms`.
        changed: How many partitions it changed.
        quality: None when it was decided by a Dorm that did not record it.
    """

    decision_id: str
    policy: str
    input_revision: int
    revision: int
    at_ms: int
    changed: int
    quality: LayoutQuality | None = None


@attrs.frozen(kw_only=True)
class ClusterState:
    """Everything Dorm knows at `revision`.

    Time in it comes from the events alone, so that everybody has the same. It never goes back,
    although the clocks of masters and agents differ: what one of them measured as a wait
    (`layout.due`) counts even if its clock is behind.

    Attributes:
        apps: Unfinished applications by id, in order of submission.
        finished: The newest `FINISHED_KEPT` finished ones, in order of their end.
        nodes: Every node ever reported and not forgotten, by id, in order of its first report.
        open_parts: Parts of layout decisions whose last part is not there yet, by decision id.
        rules: By which layouts are decided.
        last_decision: The newest complete one; None before the first.
        settled: `problem_hash` of the newest decision while it stands; empty when the layout is
            to be decided again whatever the problem is.
        now_ms: The latest time that any event knew of.
        looked_at_ms: `now_ms` at the last decision, or when the layout was last found due.
        leader: Name of the master that was elected last.
        ignored: How many events made no sense when they came, by reason. The same everywhere.
        seal: sha256 of the newest segment seal.
        sealed_segment: Number of the newest sealed segment; -1 before the first.
        unsettled: Nodes that have not entered the epoch of the store yet, with that epoch.
        store_epoch: Grows by each restore of the store that an operator vouched for.
    """

    revision: int = 0
    apps: Mapping[str, App] = attrs.field(factory=dict)
    finished: Mapping[str, App] = attrs.field(factory=dict)
    nodes: Mapping[str, Node] = attrs.field(factory=dict)
    open_parts: Mapping[str, tuple[LayoutDecided, ...]] = attrs.field(factory=dict)
    rules: LayoutRules = attrs.field(factory=LayoutRules)
    last_decision: LastDecision | None = None
    settled: str = ""
    now_ms: int = 0
    looked_at_ms: int = 0
    leader: str = ""
    epoch: int = 0
    ignored: Mapping[str, int] = attrs.field(factory=dict)
    seal: str = ""
    sealed_segment: int = -1
    store_epoch: int = 1
    unsettled: Mapping[str, int] = attrs.field(factory=dict)

    def app(self, app_id: str) -> App | None:
        """Return the application of that id, finished or not."""
        return self.apps.get(app_id) or self.finished.get(app_id)


def live_members(state: ClusterState) -> Iterator[tuple[App, Member]]:
    """Yield every container that may exist somewhere, in order of submission and rank."""
    for app in state.apps.values():
        if app.generation is not None:
            for member in app.generation.live:
                yield app, member
