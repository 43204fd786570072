"""What a user submits, and what becomes of it."""

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs
from attrs.validators import and_, ge, in_, le, max_len, min_len, optional

from events.text import plural
from events.units import Resources, at_least_one_demand

NAME_LENGTH_MAX: Final = 40  # leaves room for id, generation and rank in a 63-character host name
CHECKPOINT_SIGNALS: Final = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGHUP")
ON_DISCONNECT: Final = ("stop", "keep")
KEEP_MIN: Final = 2  # the newest may turn out to be damaged
KEEP_MAX: Final = 16
PRIORITY_MIN: Final = -1000
PRIORITY_MAX: Final = 1000
SPEED_POINTS_MAX: Final = 64  # a curve of that many points is as good as any

_a_priority: Final = and_(ge(PRIORITY_MIN), le(PRIORITY_MAX))


def a_weight(_instance: object, field: "attrs.Attribute[Any]", value: float | None) -> None:
    """Validate a weight. JSON has no infinity: one could be written, but never read again."""
    if value is not None and not 0 < value < math.inf:
        msg = f"{field.name} is {value}, which is no share of a cluster"
        raise ValueError(msg)


@attrs.frozen(kw_only=True)
class SpeedPoint:
    """A measured or promised speed, in any unit that is the same for the whole curve.

    Attributes:
        nodes: On how many nodes; 0 for as few as can hold the containers.
    """

    containers: int = attrs.field(validator=ge(1))
    speed: float = attrs.field(validator=ge(0))
    nodes: int = attrs.field(default=0, validator=ge(0))

    @property
    def where(self) -> str:
        """Return what the point is about: `8 containers`, `8 containers on 2 nodes`."""
        nodes = f" on {plural(self.nodes, 'node')}" if self.nodes else ""
        return plural(self.containers, "container") + nodes


def a_speed_curve(
    _instance: object, field: "attrs.Attribute[Any]", value: tuple[SpeedPoint, ...]
) -> None:
    """Validate a speed curve: one speed for each size, and every one of them a speed."""
    if len(value) > SPEED_POINTS_MAX:
        msg = f"{field.name} has {len(value)} points; {SPEED_POINTS_MAX} are enough"
        raise ValueError(msg)
    seen = set()
    for point in value:
        if not 0 < point.speed < math.inf:
            msg = f"{field.name} of {point.where} is {point.speed}: give a number above 0"
            raise ValueError(msg)
        if point.where in seen:
            msg = f"{field.name} of {point.where} is given twice: keep one"
            raise ValueError(msg)
        seen.add(point.where)


@attrs.frozen(kw_only=True)
class Scale:
    """How many equal containers an application may have while it runs: `min` to `max`."""

    min: int = attrs.field(validator=ge(1))
    max: int

    def __attrs_post_init__(self) -> None:
        """Refuse bounds that no layout can meet."""
        if self.max < self.min:
            msg = f"max ({self.max}) is below min ({self.min})"
            raise ValueError(msg)


@attrs.frozen(kw_only=True)
class CheckpointPolicy:
    """How an application is asked to save its work before it is stopped.

    Attributes:
        signal: Sent to every container of the generation.
        grace_ms: How long the containers may take from the signal to their exit.
        path: Directory inside the container, below a writable mount; `$DORM_APP_ID` is replaced.
            Empty for an application that saves nothing and starts from zero each time.
        keep: How many whole checkpoints are kept, the newest ones.
    """

    signal: str = attrs.field(default="SIGTERM", validator=in_(CHECKPOINT_SIGNALS))
    grace_ms: int = attrs.field(default=120_000, validator=ge(1))
    path: str = ""
    keep: int = attrs.field(default=KEEP_MIN, validator=and_(ge(KEEP_MIN), le(KEEP_MAX)))


@attrs.frozen(kw_only=True)
class Mount:
    """A directory of the operator's catalogue by its name there, and where containers see it."""

    name: str
    target: str
    read_only: bool = False


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """How often, and after how long, a failed generation is started again.

    The wait doubles from `backoff_ms` up to `backoff_max_ms`. Saved progress resets the count.
    """

    max: int = attrs.field(default=3, validator=ge(0))
    backoff_ms: int = attrs.field(default=5_000, validator=ge(1))
    backoff_max_ms: int = attrs.field(default=300_000, validator=ge(1))


@attrs.frozen(kw_only=True)
class AppSpec:
    """What a user asks for: equal containers of one image, between `scale.min` and `scale.max`.

    Attributes:
        start: Exec-form command of the first generation.
        resume: Command of every later generation; empty means `start` again.
        resources: Demand of one container.
        pids_max: Most processes and threads in one container.
        weight: Share of the cluster relative to other applications of the same priority.
        priority: A higher one may take everything from a lower one.
        speed: How fast it is at which size; empty means as fast as it has containers.
        on_disconnect: What becomes of its containers on a node that loses contact to the cluster:
            `stop` freezes them until contact is back, or for good, so that never two generations
            run; `keep` lets them run on, so two may run, of which one can save its work.
    """

    name: str = attrs.field(validator=[min_len(1), max_len(NAME_LENGTH_MAX)])
    image: str = attrs.field(validator=min_len(1))
    start: tuple[str, ...] = attrs.field(validator=min_len(1))
    resume: tuple[str, ...] = ()
    resources: Resources = attrs.field(validator=at_least_one_demand)
    pids_max: int = attrs.field(default=1024, validator=ge(1))
    scale: Scale
    weight: float = attrs.field(default=1.0, validator=a_weight)
    env: Mapping[str, str] = attrs.field(factory=dict)
    checkpoint: CheckpointPolicy = CheckpointPolicy()
    mounts: tuple[Mount, ...] = ()
    retry: RetryPolicy = RetryPolicy()
    priority: int = attrs.field(default=0, validator=_a_priority)
    speed: tuple[SpeedPoint, ...] = attrs.field(default=(), validator=a_speed_curve)
    on_disconnect: str = attrs.field(default="stop", validator=in_(ON_DISCONNECT))


@attrs.frozen(kw_only=True)
class AppSubmitted:
    """A user asked for an application. The id is unique for ever; the name is only a label."""

    app_id: str = attrs.field(validator=[min_len(1), max_len(63)])
    spec: AppSpec


@attrs.frozen(kw_only=True)
class AppChanged:
    """A user set a new weight, bounds or priority; None leaves the old value."""

    app_id: str
    weight: float | None = attrs.field(default=None, validator=a_weight)
    scale: Scale | None = None
    priority: int | None = attrs.field(default=None, validator=optional(_a_priority))


@attrs.frozen(kw_only=True)
class AppQuarantined:
    """The layout could not be decided with this application in it, so it is left out.

    It keeps what it has until its user changes it, or somebody says to try it again.
    """

    app_id: str
    reason: str = attrs.field(validator=min_len(1))


@attrs.frozen(kw_only=True)
class AppUnquarantined:
    """Somebody said to try a quarantined application again."""

    app_id: str


@attrs.frozen(kw_only=True)
class AppCancelRequested:
    """A user wants the application to end. Its containers are stopped first."""

    app_id: str


@attrs.frozen(kw_only=True)
class AppRetrying:
    """A generation failed; the next one may start after a wait of `wait_ms`.

    A length, not a moment: the clocks of two masters may differ by any amount.

    The failure was the `attempt`-th in a row (0 when it does not count: a lost node).
    """

    app_id: str
    attempt: int
    wait_ms: int = attrs.field(validator=ge(0))
    reason: str


@attrs.frozen(kw_only=True)
class AppRequeued:
    """The wait after a failure is over."""

    app_id: str


@attrs.frozen(kw_only=True)
class AppCompleted:
    """Every container ended by itself with exit code 0. Terminal."""

    app_id: str


@attrs.frozen(kw_only=True)
class AppFailed:
    """The retries are used up, or the failure is of a kind that no retry can cure. Terminal."""

    app_id: str
    reason: str


@attrs.frozen(kw_only=True)
class AppCancelled:
    """The application was cancelled and its last container is gone. Terminal."""

    app_id: str
