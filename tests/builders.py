"""Short ways to say a whole event; every default is the dullest legal value.

A noun builds what is described (`a_node`, `an_app`, `a_layout`, `a_generation`); every other event
is built by its class name in snake case (`node_lost("n1")`).
"""

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from events.apps import (
    AppCancelled,
    AppCancelRequested,
    AppChanged,
    AppCompleted,
    AppFailed,
    AppQuarantined,
    AppRequeued,
    AppRetrying,
    AppSpec,
    AppSubmitted,
    AppUnquarantined,
    Scale,
)
from events.catalog import Event
from events.control import LeaderElected, SegmentSealed, StoreEpochBegan
from events.fold import fold
from events.generations import (
    CheckpointRequested,
    ContainerExited,
    ContainerStarted,
    GenerationStarted,
    GenerationStopped,
    Member,
    StopRequested,
)
from events.layouts import LayoutDecided, PartitionChange, Slots
from events.log import MemoryLog
from events.nodes import (
    Device,
    NodeExpelled,
    NodeFenced,
    NodeForgotten,
    NodeLost,
    NodeReported,
    NodeReturned,
    NodeSettled,
)
from events.policy import LayoutConfigured, LayoutDue, LayoutRules
from events.recorded import Recorded, Stamp
from events.state import ClusterState
from events.units import Resources

GIB: Final = 1 << 30
BY_TEST: Final = Stamp(at_ms=1_700_000_000_000, actor="user/ann", cause="test")


def amount(cpus: float = 0, memory_gib: float = 0, gpus: int = 0) -> Resources:
    """Resources in the units that people use."""
    return Resources(
        cpu_milli=round(cpus * 1000), memory_bytes=round(memory_gib * GIB), gpu_count=gpus
    )


# Applications


def a_spec(  # noqa: PLR0913 - a builder names whatever a test may care about
    name: str = "a",
    *,
    cpus: float = 1,
    memory_gib: float = 1,
    gpus: int = 0,
    min: int = 1,  # noqa: A002 - the word of the spec
    max: int = 4,  # noqa: A002 - the word of the spec
    weight: float = 1.0,
    **more: Any,  # noqa: ANN401 - any other field of the spec
) -> AppSpec:
    """A spec of `min` to `max` containers of 1 cpu and 1 GiB each; `more` are its other fields."""
    return AppSpec(
        **{
            "name": name,
            "image": "busybox",
            "start": ("train",),
            "resources": amount(cpus, memory_gib, gpus),
            "scale": Scale(min=min, max=max),
            "weight": weight,
            **more,
        }
    )


def an_app(app_id: str = "a", **spec: Any) -> AppSubmitted:  # noqa: ANN401 - as in `a_spec`
    """A submitted application; its name is its id unless `name` says otherwise."""
    return AppSubmitted(app_id=app_id, spec=a_spec(**{"name": app_id, **spec}))


def app_changed(
    app_id: str = "a",
    *,
    weight: float | None = None,
    scale: tuple[int, int] | None = None,
    priority: int | None = None,
) -> AppChanged:
    """A new weight, a new (min, max), or a new priority."""
    bounds = Scale(min=scale[0], max=scale[1]) if scale else None
    return AppChanged(app_id=app_id, weight=weight, scale=bounds, priority=priority)


def app_cancel_requested(app_id: str = "a") -> AppCancelRequested:
    """The user wants it to end."""
    return AppCancelRequested(app_id=app_id)


def app_retrying(
    app_id: str = "a",
    *,
    attempt: int = 1,
    wait_ms: int = 5_000,
    reason: str = "exit code 1",
) -> AppRetrying:
    """A wait after a failed generation."""
    return AppRetrying(app_id=app_id, attempt=attempt, wait_ms=wait_ms, reason=reason)


def app_requeued(app_id: str = "a") -> AppRequeued:
    """The wait is over."""
    return AppRequeued(app_id=app_id)


def app_completed(app_id: str = "a") -> AppCompleted:
    """It ended well."""
    return AppCompleted(app_id=app_id)


def app_failed(app_id: str = "a", *, reason: str = "exit code 1") -> AppFailed:
    """It ended badly."""
    return AppFailed(app_id=app_id, reason=reason)


def app_cancelled(app_id: str = "a") -> AppCancelled:
    """It ended because a user wanted it to."""
    return AppCancelled(app_id=app_id)


def app_quarantined(app_id: str = "a", *, reason: str = "no memory left") -> AppQuarantined:
    """No layout could be decided with it."""
    return AppQuarantined(app_id=app_id, reason=reason)


def app_unquarantined(app_id: str = "a") -> AppUnquarantined:
    """Somebody wants it tried again."""
    return AppUnquarantined(app_id=app_id)


# Nodes


def gpu(node_id: str, index: int = 0) -> str:
    """The UUID that `a_node` gives to its GPU of that index."""
    return f"GPU-{node_id}-{index}"


def a_node(
    node_id: str = "n1",
    *,
    cpus: float = 4,
    memory_gib: float = 16,
    gpus: int = 0,
    **more: Any,  # noqa: ANN401 - any other field of the report
) -> NodeReported:
    """A node of four cpus and 16 GiB; `more` are the report's other fields."""
    return NodeReported(
        **{
            "node_id": node_id,
            "incarnation": f"{node_id}-1",
            "capacity": amount(cpus, memory_gib, gpus),
            "devices": tuple(Device(uuid=gpu(node_id, index)) for index in range(gpus)),
            "address": f"{node_id}.test",
            **more,
        }
    )


def node_lost(node_id: str = "n1") -> NodeLost:
    """Its lease ran out."""
    return NodeLost(node_id=node_id)


def node_returned(node_id: str = "n1") -> NodeReturned:
    """Its lease is back."""
    return NodeReturned(node_id=node_id)


def node_expelled(node_id: str = "n1", *, tenure: str = "n1-t1") -> NodeExpelled:
    """Its tenure was ended."""
    return NodeExpelled(node_id=node_id, tenure=tenure)


def node_fenced(node_id: str = "n1", *, tenure: str = "n1-t1") -> NodeFenced:
    """Nothing of that tenure runs any more."""
    return NodeFenced(node_id=node_id, tenure=tenure)


def node_forgotten(node_id: str = "n1") -> NodeForgotten:
    """An operator vouches that it is off."""
    return NodeForgotten(node_id=node_id)


# Layout and generations


def a_layout(
    partitions: Mapping[str, Mapping[str, int | Slots]],
    *,
    generation: int = 1,
    reason: str = "fair share",
    **more: Any,  # noqa: ANN401 - any other field of the decision
) -> LayoutDecided:
    """A decision in one part: containers, or whole slots, by application and node.

    Every change gets the same `generation`.
    """
    changes = {
        app_id: PartitionChange(
            generation=generation,
            partition={
                node_id: slots if isinstance(slots, Slots) else Slots(count=slots)
                for node_id, slots in nodes.items()
            },
            reason=reason,
        )
        for app_id, nodes in partitions.items()
    }
    return LayoutDecided(
        **{
            "decision_id": "d1",
            "input_revision": 0,
            "policy": "drf/1",
            "changes": changes,
            **more,
        }
    )


def layout_configured(**rules: Any) -> LayoutConfigured:  # noqa: ANN401 - any field of the rules
    """The rules of layouts, at their defaults but for `rules`."""
    return LayoutConfigured(rules=LayoutRules(**rules))


def layout_due(waited_ms: int = 600_000) -> LayoutDue:
    """Time has passed."""
    return LayoutDue(waited_ms=waited_ms)


def a_generation(
    app_id: str = "a",
    *node_ids: str,
    generation: int = 1,
    gpus: int = 0,
    first_port: int | None = None,
) -> GenerationStarted:
    """A generation with one container on each node named, in rank order; on `n1` if none is.

    With `gpus`, each container gets that many of its node's devices, from the first on. Ports
    follow from the application's id, so two applications seldom meet on one; `first_port` decides.
    """
    if first_port is None:
        first_port = 20_000 + zlib.crc32(app_id.encode()) % 900 * 11
    dealt: Counter[str] = Counter()
    members = []
    for rank, node_id in enumerate(node_ids or ("n1",)):
        indices = range(dealt[node_id], dealt[node_id] + gpus)
        dealt[node_id] += gpus
        devices = tuple(gpu(node_id, index) for index in indices)
        members.append(Member(rank=rank, node_id=node_id, port=first_port + rank, devices=devices))
    return GenerationStarted(app_id=app_id, generation=generation, members=tuple(members))


def checkpoint_requested(
    app_id: str = "a", *, generation: int = 1, reason: str = "4 -> 2 containers"
) -> CheckpointRequested:
    """A resize begins."""
    return CheckpointRequested(app_id=app_id, generation=generation, reason=reason)


def stop_requested(
    app_id: str = "a", *, generation: int = 1, cause: str = "cancel", reason: str = ""
) -> StopRequested:
    """The generation is to end at once."""
    return StopRequested(app_id=app_id, generation=generation, cause=cause, reason=reason)


def container_started(
    app_id: str = "a", *, rank: int = 0, node_id: str = "n1", generation: int = 1
) -> ContainerStarted:
    """An agent saw it running."""
    return ContainerStarted(app_id=app_id, generation=generation, rank=rank, node_id=node_id)


def container_exited(  # noqa: PLR0913 - a builder names whatever a test may care about
    app_id: str = "a",
    *,
    rank: int = 0,
    node_id: str = "n1",
    generation: int = 1,
    exit_code: int | None = 0,
    reason: str = "exited",
    final: bool = False,
    message: str = "",
    checkpoint_step: int | None = None,
) -> ContainerExited:
    """An agent saw it gone, with exit code 0 unless told otherwise."""
    return ContainerExited(
        app_id=app_id,
        generation=generation,
        rank=rank,
        node_id=node_id,
        exit_code=exit_code,
        reason=reason,
        final=final,
        message=message,
        checkpoint_step=checkpoint_step,
    )


def generation_stopped(app_id: str = "a", *, generation: int = 1) -> GenerationStopped:
    """The last container of a stopped generation is gone."""
    return GenerationStopped(app_id=app_id, generation=generation)


# The control plane


def leader_elected(master: str = "m1", *, epoch: int = 1) -> LeaderElected:
    """A master leads."""
    return LeaderElected(master=master, epoch=epoch)


def segment_sealed(
    segment: int = 0, *, sha256: str = "ab" * 32, previous: str = "", **more: int
) -> SegmentSealed:
    """A segment is closed; of no events, unless `more` gives count and revisions."""
    revisions = {"count": 0, "first_revision": 0, "last_revision": 0, **more}
    return SegmentSealed(segment=segment, sha256=sha256, previous=previous, **revisions)


def node_settled(node_id: str = "n1", *, epoch: int = 2) -> NodeSettled:
    """A node has entered an epoch of the store."""
    return NodeSettled(node_id=node_id, epoch=epoch)


def store_epoch_began(
    epoch: int = 2,
    *,
    found_revision: int = 0,
    lost_revision: int = 0,
    witnesses: tuple[str, ...] = (),
) -> StoreEpochBegan:
    """An operator vouched for a restored store."""
    return StoreEpochBegan(
        epoch=epoch,
        store_id=f"store-{epoch}",
        found_revision=found_revision,
        lost_revision=lost_revision,
        witnesses=witnesses,
    )


# Histories


def history(*events: Event, stamp: Stamp = BY_TEST) -> tuple[Recorded, ...]:
    """The events as a log keeps them, one revision each, beginning at 1."""
    log = MemoryLog()
    for event in events:
        log.record(event, stamp=stamp)
    return tuple(log.recorded)


def state_of(*events: Event) -> ClusterState:
    """The state that the events add up to."""
    return fold(history(*events))
