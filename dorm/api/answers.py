"""What the API answers, field by field. `dorm.api.openapi` publishes these types as schemas.

mypy holds `dorm.api.shapes` to them; a test holds every answer to what is published. Fields may be
added, and are never renamed.
"""

from typing import Any, Literal, NotRequired, TypedDict

from dorm.doctor import Finding
from dorm.status import Progress
from dorm.store import Alarm
from events.nodes import Device
from events.policy import LayoutRules
from events.state import Backoff, Checkpoint, Exit, LastDecision, Outcome, Standing, Stop
from reconcilers.reasons import ReasonCode


class Fault(TypedDict):
    """One thing that is wrong with a request: where, what was given, the rule and the way out."""

    field: str
    value: str
    rule: str
    hint: str
    message: str


class Refusal(Fault):
    """Why a request was not carried out; `faults` lists all that is wrong with a spec.

    `written` stands in a refusal with 503: `no`, or `unknown`.
    """

    faults: NotRequired[list[Fault]]
    written: NotRequired[str]


class ErrorAnswer(TypedDict):
    """The shape of every answer that is no success."""

    error: Refusal


class Submitted(TypedDict):
    """The receipt of a submit. `duplicate`: the key was used before, for this very spec."""

    id: str
    revision: int
    duplicate: bool


class Freshness(TypedDict):
    """How old the state is that an answer comes from.

    `age_s` is null before etcd has answered for the first time; `hold` says why this master
    decides nothing, empty when it does.
    """

    stale: bool
    age_s: float | None
    hold: str


class Read(TypedDict):
    """What an answer to a question carries besides."""

    freshness: NotRequired[Freshness]


class Amounts(TypedDict):
    """Resources, with their units in the names."""

    cpu_milli: int
    memory_bytes: int
    gpu_count: int


class AppRow(TypedDict):
    """What a list of applications shows of one."""

    id: str
    name: str
    user: str
    phase: str
    size: int
    granted: int
    min: int
    max: int
    weight: float
    priority: int
    quarantine: str
    generation: int
    resizes: int
    failures: int
    progress: Progress | None
    checkpoint_step: int | None
    submitted_at_ms: int
    submitted_revision: int
    outcome: Outcome | None


class Apps(Read):
    """All applications."""

    apps: list[AppRow]


class SpeedRow(TypedDict):
    """What was trained with that many containers."""

    containers: int
    steps: int
    ms: int


class ContainerRow(TypedDict):
    """One container of the generation that is there now."""

    rank: int
    node: str
    port: int
    devices: list[str]
    state: Literal["starting", "running", "exited"]
    exit: Exit | None


class AppPage(AppRow):
    """Everything about one application; `spec` can be submitted again."""

    partition: dict[str, int]
    target_generation: int
    decided_reason: str
    restart_ms: int
    speeds: list[SpeedRow]
    checkpoints: list[Checkpoint]
    stop: Stop | None
    backoff: Backoff | None
    cancel_requested: bool
    containers: list[ContainerRow]
    spec: dict[str, Any]


class Why(Read):
    """Why an application waits, or has its size."""

    id: str
    phase: str
    revision: int
    code: ReasonCode
    message: str
    hint: str
    numbers: dict[str, int]
    held: dict[str, str]


class NodeRow(TypedDict):
    """What a list of nodes shows of one."""

    id: str
    state: Standing
    address: str
    network: str
    capacity: Amounts
    used: Amounts
    free: Amounts
    containers: int
    apps: list[str]
    labels: dict[str, str]
    versions: dict[str, str]
    devices: list[Device]
    document_revision: int | None
    held: dict[str, str]


class Nodes(Read):
    """All nodes that are not forgotten."""

    nodes: list[NodeRow]


class Forgotten(TypedDict):
    """A node that will not come back."""

    id: str
    forgotten: bool


class Policy(Read):
    """The rules of layouts, and the newest decision by them."""

    rules: LayoutRules
    last_decision: LastDecision | None
    quarantined: list[str]
    revision: int


class EventRow(TypedDict):
    """One event, and the sentence that tells it. What `data` holds depends on `kind`."""

    revision: int
    segment: int
    id: str
    kind: str
    at_ms: int
    actor: str
    cause: str
    text: str
    data: dict[str, Any]


class Events(TypedDict):
    """A page of events, read from the log itself; go on with `after=next`."""

    events: list[EventRow]
    next: int
    at_end: bool


class NodeCounts(TypedDict):
    """How many nodes there are."""

    ready: int
    lost: int


class Summary(TypedDict):
    """What the whole cluster has, uses and runs. A lost node's capacity does not count."""

    nodes: NodeCounts
    total: Amounts
    used: Amounts
    free: Amounts
    apps: dict[str, int]


class MemberRoom(TypedDict):
    """The room of one member of etcd."""

    endpoint: str
    db_bytes: int
    in_use_bytes: int
    quota_bytes: int
    no_space: bool


class Room(TypedDict):
    """How full etcd is, by its fullest member; `members` is empty while none has answered."""

    level: str
    fill: float | None
    text: str
    members: list[MemberRoom]


class Status(Summary):
    """How the cluster and this master are."""

    master: str
    is_leader: bool
    leader: str
    epoch: int
    healthy: bool
    hold: str
    alarms: list[Alarm]
    store_epoch: int
    unsettled: list[str]
    revision: int
    state_hash: str
    ignored: dict[str, int]
    space: Room


class Health(Read):
    """Whether a master is fit: `ok`; `stale`, or `hold`, when it takes no writes."""

    status: Literal["ok", "stale", "hold"]


class Findings(Read):
    """What the doctor found."""

    findings: list[Finding]


class NewEpoch(TypedDict):
    """The epoch of the store that was begun, and the one before."""

    epoch: int
    id: str
    after: int


class AppRead(AppPage, Read):
    """Everything about an application, and how fresh that is."""


class StatusRead(Status, Read):
    """How the cluster and this master are, and how fresh that is."""
