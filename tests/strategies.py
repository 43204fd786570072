"""Hypothesis strategies for single events and for whole histories.

`events()` are any well-formed events, most of them senseless in most states. For histories that
could happen see `tests.histories`.
"""

from typing import Final

from hypothesis import strategies as st

from events import apps, checkpoints, control, generations, layouts, nodes, policy
from events.apps import CHECKPOINT_SIGNALS, AppSpec, Scale
from events.catalog import CATALOG, Event
from events.generations import EXIT_REASONS, Member
from events.layouts import PartitionChange, Slots
from events.nodes import Device
from events.recorded import Recorded, Stamp
from events.units import Resources
from tests.builders import GIB, gpu

APP_IDS: Final = ("a", "b", "c", "d")
NODE_IDS: Final = ("n1", "n2", "n3")

app_ids = st.sampled_from(APP_IDS)
node_ids = st.sampled_from(NODE_IDS)
tenures = st.sampled_from(("", "t1", "t2"))
numbers = st.integers(1, 4)  # of generations and other things that should often meet
counts = st.integers(0, 1 << 53)
words = st.text(max_size=8)
names = st.text(min_size=1, max_size=12)
maps = st.dictionaries(words, words, max_size=3)
flags = st.booleans()


priorities = st.integers(apps.PRIORITY_MIN, apps.PRIORITY_MAX)
figures = st.floats(allow_nan=False, allow_infinity=False)
factors = st.floats(0, 1e9)
speeds = st.lists(
    st.builds(
        apps.SpeedPoint,
        containers=numbers,
        speed=st.floats(0.01, 1e6),
        nodes=st.integers(0, 2),
    ),
    max_size=3,
    unique_by=lambda point: point.where,
).map(tuple)


def amounts(*, gpus: st.SearchStrategy[int]) -> st.SearchStrategy[Resources]:
    """Amounts in halves of a cpu and of a GiB; small, so that containers and nodes often meet."""
    return st.builds(
        lambda halves, gpu_count: Resources(
            cpu_milli=halves * 500, memory_bytes=halves * GIB // 2, gpu_count=gpu_count
        ),
        st.integers(1, 8),
        gpus,
    )


@st.composite
def scales(draw: st.DrawFn) -> Scale:
    """Legal bounds."""
    low = draw(st.integers(1, 3))
    return Scale(min=low, max=draw(st.integers(low, 5)))


def specs() -> st.SearchStrategy[AppSpec]:
    """Specs with every field at play."""
    return st.builds(
        AppSpec,
        name=names,
        image=names,
        start=st.lists(words, min_size=1, max_size=3).map(tuple),
        resume=st.lists(words, max_size=3).map(tuple),
        resources=amounts(gpus=st.integers(0, 1)),
        pids_max=st.integers(1, 4096),
        scale=scales(),
        weight=st.floats(0.01, 100),
        env=maps,
        checkpoint=st.builds(
            apps.CheckpointPolicy,
            signal=st.sampled_from(CHECKPOINT_SIGNALS),
            grace_ms=st.integers(1, 600_000),
            path=words,
            keep=st.integers(apps.KEEP_MIN, apps.KEEP_MAX),
        ),
        mounts=st.lists(
            st.builds(apps.Mount, name=words, target=words, read_only=flags), max_size=2
        ).map(tuple),
        retry=st.builds(
            apps.RetryPolicy,
            max=st.integers(0, 5),
            backoff_ms=st.integers(1, 60_000),
            backoff_max_ms=st.integers(1, 600_000),
        ),
        priority=priorities,
        speed=speeds,
    )


@st.composite
def reports(draw: st.DrawFn) -> nodes.NodeReported:
    """Reports of machines with up to four GPUs."""
    node_id = draw(node_ids)
    gpus = draw(st.integers(0, 4))
    return nodes.NodeReported(
        node_id=node_id,
        incarnation=draw(words),
        capacity=draw(amounts(gpus=st.just(gpus))),
        devices=tuple(
            Device(uuid=gpu(node_id, index), model=draw(words), memory_bytes=draw(counts))
            for index in range(gpus)
        ),
        address=draw(words),
        api_url=draw(words),
        network=draw(st.sampled_from(("bridge", "host"))),
        labels=draw(maps),
        versions=draw(maps),
        tenure=draw(tenures),
    )


@st.composite
def slots(draw: st.DrawFn) -> Slots:
    """A share of a node, with devices or without."""
    count = draw(st.integers(1, 3))
    each = draw(st.integers(0, 2))
    return Slots(count=count, devices=tuple(draw(words) for _ in range(count * each)))


@st.composite
def members(draw: st.DrawFn) -> tuple[Member, ...]:
    """The containers of a generation, in rank order."""
    return tuple(
        Member(
            rank=rank,
            node_id=draw(node_ids),
            port=draw(st.integers(1, 65_535)),
            devices=tuple(draw(st.lists(words, max_size=2))),
        )
        for rank in range(draw(st.integers(0, 3)))
    )


@st.composite
def layout_parts(draw: st.DrawFn) -> layouts.LayoutDecided:
    """A decision, or one part of a decision of several."""
    parts = draw(st.integers(1, 3))
    changes = st.builds(
        PartitionChange,
        generation=numbers,
        partition=st.dictionaries(node_ids, slots(), max_size=2),
        reason=words,
    )
    return layouts.LayoutDecided(
        decision_id=draw(st.sampled_from(("d1", "d2"))),
        input_revision=0,
        policy=draw(words),
        part=draw(st.integers(1, parts)),
        parts=parts,
        changes=draw(st.dictionaries(app_ids, changes, max_size=2)),
        problem_hash=draw(words),
        quality=draw(st.none() | qualities()),
    )


def qualities() -> st.SearchStrategy[layouts.LayoutQuality]:
    """Any figures that can be recorded."""
    return st.builds(
        layouts.LayoutQuality,
        **dict.fromkeys(("objective", "bound", "gap", "loss", "loss_bound"), figures),
        **dict.fromkeys(("touched", "released"), st.lists(app_ids, max_size=2).map(tuple)),
        **dict.fromkeys(("input_hash", "version", "fallback"), words),
        touches_max=counts,
        prices=st.dictionaries(words, figures, max_size=2),
    )


def layout_rules() -> st.SearchStrategy[policy.LayoutRules]:
    """Any legal rules that a layout can be decided by (`reconcilers.layout.validate`)."""
    decidable = factors.filter(lambda factor: factor <= 1e6)
    return st.builds(
        policy.LayoutRules,
        policy=st.sampled_from(policy.POLICIES),
        **dict.fromkeys(("loss_factor", "touch_factor", "shortfall_price"), decidable),
        **dict.fromkeys(("min_run_ms", "gang_wait_ms"), counts),
        **dict.fromkeys(("horizon_ms", "static_containers"), st.integers(1, 1 << 40)),
    )


EVENTS: Final[dict[type[Event], st.SearchStrategy[Event]]] = {
    apps.AppSubmitted: st.builds(apps.AppSubmitted, app_id=app_ids, spec=specs()),
    apps.AppChanged: st.builds(
        apps.AppChanged,
        app_id=app_ids,
        weight=st.none() | st.floats(0.01, 100),
        scale=st.none() | scales(),
        priority=st.none() | priorities,
    ),
    apps.AppCancelRequested: st.builds(apps.AppCancelRequested, app_id=app_ids),
    apps.AppRetrying: st.builds(
        apps.AppRetrying,
        app_id=app_ids,
        attempt=st.integers(0, 5),
        wait_ms=counts,
        reason=words,
    ),
    apps.AppRequeued: st.builds(apps.AppRequeued, app_id=app_ids),
    apps.AppCompleted: st.builds(apps.AppCompleted, app_id=app_ids),
    apps.AppFailed: st.builds(apps.AppFailed, app_id=app_ids, reason=words),
    apps.AppCancelled: st.builds(apps.AppCancelled, app_id=app_ids),
    apps.AppQuarantined: st.builds(apps.AppQuarantined, app_id=app_ids, reason=names),
    apps.AppUnquarantined: st.builds(apps.AppUnquarantined, app_id=app_ids),
    nodes.NodeReported: reports(),
    nodes.NodeLost: st.builds(nodes.NodeLost, node_id=node_ids),
    nodes.NodeReturned: st.builds(nodes.NodeReturned, node_id=node_ids),
    nodes.NodeExpelled: st.builds(nodes.NodeExpelled, node_id=node_ids, tenure=tenures),
    nodes.NodeFenced: st.builds(nodes.NodeFenced, node_id=node_ids, tenure=tenures),
    nodes.NodeForgotten: st.builds(nodes.NodeForgotten, node_id=node_ids),
    layouts.LayoutDecided: layout_parts(),
    policy.LayoutConfigured: st.builds(policy.LayoutConfigured, rules=layout_rules()),
    policy.LayoutDue: st.builds(policy.LayoutDue, waited_ms=counts),
    generations.GenerationStarted: st.builds(
        generations.GenerationStarted, app_id=app_ids, generation=numbers, members=members()
    ),
    generations.CheckpointRequested: st.builds(
        generations.CheckpointRequested, app_id=app_ids, generation=numbers, reason=words
    ),
    checkpoints.CheckpointSaved: st.builds(
        checkpoints.CheckpointSaved,
        app_id=app_ids,
        generation=numbers,
        node_id=node_ids,
        step=st.integers(0, 5),
        manifest_sha256=words,
        size_bytes=counts,
        file_count=counts,
    ),
    checkpoints.CheckpointRejected: st.builds(
        checkpoints.CheckpointRejected,
        app_id=app_ids,
        generation=numbers,
        node_id=node_ids,
        saved_generation=numbers,
        step=st.integers(0, 5),
        reason=words,
    ),
    generations.StopRequested: st.builds(
        generations.StopRequested,
        app_id=app_ids,
        generation=numbers,
        cause=st.sampled_from(("cancel", "failure")),
        reason=words,
    ),
    generations.ContainerStarted: st.builds(
        generations.ContainerStarted,
        app_id=app_ids,
        generation=numbers,
        rank=st.integers(0, 3),
        node_id=node_ids,
    ),
    generations.ContainerExited: st.builds(
        generations.ContainerExited,
        app_id=app_ids,
        generation=numbers,
        rank=st.integers(0, 3),
        node_id=node_ids,
        exit_code=st.none() | st.integers(0, 255),
        reason=st.sampled_from(EXIT_REASONS),
        final=st.booleans(),
        message=words,
        checkpoint_step=st.none() | counts,
    ),
    generations.GenerationStopped: st.builds(
        generations.GenerationStopped, app_id=app_ids, generation=numbers
    ),
    nodes.NodeSettled: st.builds(nodes.NodeSettled, node_id=node_ids, epoch=counts),
    control.LeaderElected: st.builds(control.LeaderElected, master=names, epoch=counts),
    control.SegmentSealed: st.builds(
        control.SegmentSealed,
        segment=st.integers(0, 5),
        count=counts,
        first_revision=counts,
        last_revision=counts,
        sha256=words,
        previous=words,
    ),
    control.StoreEpochBegan: st.builds(
        control.StoreEpochBegan,
        epoch=counts,
        store_id=names,
        found_revision=counts,
        lost_revision=counts,
        witnesses=st.lists(names, max_size=2).map(tuple),
    ),
}
"""A strategy for each kind of event."""


def events() -> st.SearchStrategy[Event]:
    """Any well-formed event; every kind is equally likely."""
    return st.sampled_from(sorted(CATALOG)).flatmap(lambda kind: EVENTS[CATALOG[kind]])


def envelopes() -> st.SearchStrategy[Recorded]:
    """Any event in any envelope."""
    return st.builds(
        Recorded,
        event_id=names,
        revision=counts,
        segment=st.integers(0, 1000),
        stamp=st.builds(Stamp, at_ms=counts, actor=words, cause=words),
        previous=words,
        event=events(),
    )
