"""Hypothesis strategy for histories that could happen.

Each event is drawn from those that make sense in the state so far. Now and then one is repeated,
or drawn without regard to the state, as in a real log where reports come twice and decisions are
overtaken.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hypothesis import strategies as st

from events.apps import AppChanged
from events.catalog import Event
from events.fold import apply
from events.generations import GenerationStarted, Member
from events.layouts import LayoutDecided, PartitionChange, Slots
from events.log import MemoryLog
from events.nodes import NodeReported
from events.recorded import Recorded
from events.state import App, ClusterState, Generation, live_members
from events.units import total_of
from tests import builders as b
from tests.checkpoint_builders import checkpoint_rejected, checkpoint_saved
from tests.strategies import APP_IDS, NODE_IDS, events, reports, scales

Move = Callable[[st.DrawFn], Event]
"""Draws what the event leaves open."""


RARELY: Final = 5  # one event in this many is a turn for the worse, or makes no sense


@st.composite
def histories(draw: st.DrawFn, *, max_size: int = 40) -> tuple[Recorded, ...]:
    """Histories of up to `max_size` events, each of one revision."""
    log, state = MemoryLog(), ClusterState()
    for _ in range(draw(st.integers(0, max_size))):
        likely = tuple(_likely(state))
        rare = draw(st.integers(1, RARELY)) == RARELY
        moves = tuple(_rare(state, log.recorded)) if rare or not likely else likely
        event = draw(st.sampled_from(moves))(draw)
        state = apply(state, log.record(event, stamp=b.BY_TEST))
    return tuple(log.recorded)


def _likely(state: ClusterState) -> Iterator[Move]:
    """Yield what brings the applications on."""
    yield from (_submit(app_id) for app_id in APP_IDS if state.app(app_id) is None)
    yield from (_report(node_id) for node_id in NODE_IDS if node_id not in state.nodes)
    # Not likely at all, but else hardly ever while containers are there.
    yield from (_always(b.node_forgotten(key)) for key, node in state.nodes.items() if node.lost)
    for app in state.apps.values():
        yield from _steps(state, app)
        if app.generation is not None:
            yield from _container_steps(app, app.generation)


def _rare(state: ClusterState, past: list[Recorded]) -> Iterator[Move]:
    """Yield what gets in the way."""
    yield _any_event
    if past:
        yield lambda draw: draw(st.sampled_from(past)).event
    yield lambda draw: draw(reports())
    yield _always(b.leader_elected(epoch=state.epoch + 1))
    yield _always(b.store_epoch_began(state.store_epoch + 1))
    yield from (_always(b.node_settled(key, epoch=state.store_epoch)) for key in state.unsettled)
    yield lambda draw: b.layout_due(draw(st.integers(0, 10_000_000)))
    yield _always(b.segment_sealed(state.sealed_segment + 1, previous=state.seal))
    for node_id, node in state.nodes.items():
        if node.lost:
            yield _always(b.node_returned(node_id))
        else:
            yield _always(b.node_lost(node_id))
    for app in state.apps.values():
        yield _change(app.app_id)
        yield _always(b.app_cancel_requested(app.app_id))
        quarantine = b.app_unquarantined if app.quarantine else b.app_quarantined
        yield _always(quarantine(app.app_id))
        if app.generation is not None:
            number = app.generation.number
            yield _always(b.stop_requested(app.app_id, generation=number, cause="cancel"))


def _always(event: Event) -> Move:
    return lambda _: event


def _submit(app_id: str) -> Move:
    return lambda draw: b.an_app(
        app_id, cpus=draw(st.integers(1, 4)) / 2, gpus=draw(st.sampled_from((0, 0, 1)))
    )


def _change(app_id: str) -> Move:
    return lambda draw: AppChanged(app_id=app_id, scale=draw(scales()))


def _report(node_id: str) -> Move:
    return lambda draw: b.a_node(node_id, gpus=draw(st.integers(0, 3)))


def _any_event(draw: st.DrawFn) -> Event:
    """Any event but a start: starts are checked by the one who plans them, not by the fold."""
    return draw(events().filter(lambda event: not isinstance(event, GenerationStarted)))


def _steps(state: ClusterState, app: App) -> Iterator[Move]:
    if state.nodes and (app.target_generation <= app.last_generation or not app.partition):
        yield lambda draw: _layout(draw, state, app)
    if app.generation is None and (start := _start(state, app)):
        yield _always(start)
    if app.generation is None and app.failure:
        yield _always(b.app_retrying(app.app_id, attempt=app.failures + 1))
        yield _always(b.app_failed(app.app_id, reason=app.failure))
    if app.generation is None and app.cancel_requested:
        yield _always(b.app_cancelled(app.app_id))
    if app.backoff is not None:
        yield _always(b.app_requeued(app.app_id))


def _container_steps(app: App, generation: Generation) -> Iterator[Move]:
    app_id, number = app.app_id, generation.number
    if 0 not in generation.exits and generation.members:
        yield from _checkpoint_steps(app, generation, generation.members[0].node_id)
    for member in generation.live:
        rank, node_id = member.rank, member.node_id
        if rank not in generation.started:
            yield _always(
                b.container_started(app_id, generation=number, rank=rank, node_id=node_id)
            )
        for exit_code in (0, 1):
            yield _always(
                b.container_exited(
                    app_id,
                    generation=number,
                    rank=rank,
                    node_id=node_id,
                    exit_code=exit_code,
                    checkpoint_step=number * 100 if rank == 0 else None,
                )
            )
    if generation.stop is None:
        yield _always(b.checkpoint_requested(app_id, generation=number))
        yield _always(b.stop_requested(app_id, generation=number, cause="failure"))
    elif not generation.live:
        yield _always(b.generation_stopped(app_id, generation=number))
    if generation.stop is None and not generation.live:
        yield _always(b.app_completed(app_id))


def _checkpoint_steps(app: App, generation: Generation, node_id: str) -> Iterator[Move]:
    last = app.checkpoints[0] if app.checkpoints else None
    step = last.step + 10 if last and last.generation == generation.number else 10
    if 0 in generation.started:
        yield _always(
            checkpoint_saved(app.app_id, generation=generation.number, node_id=node_id, step=step)
        )
    elif (seed := generation.seed) is not None:
        yield _always(
            checkpoint_rejected(
                app.app_id,
                generation=generation.number,
                node_id=node_id,
                saved_generation=seed.generation,
                step=seed.step,
            )
        )


def _layout(draw: st.DrawFn, state: ClusterState, app: App) -> LayoutDecided:
    """Grant some containers on some nodes; a start waits until they fit."""
    partition = {}
    for node_id in NODE_IDS:
        count = draw(st.integers(0, 2))
        if count and node_id in state.nodes:
            gpus = count * app.demand.gpu_count
            devices = state.nodes[node_id].report.devices[:gpus]
            if len(devices) == gpus:
                uuids = tuple(device.uuid for device in devices)
                partition[node_id] = Slots(count=count, devices=uuids)
    number = max(app.target_generation, app.last_generation) + 1
    change = PartitionChange(generation=number, partition=partition)
    return LayoutDecided(
        decision_id=f"d{state.revision}",
        input_revision=state.revision,
        policy="test/1",
        changes={app.app_id: change},
    )


def _start(state: ClusterState, app: App) -> GenerationStarted | None:
    """Return the start of the granted generation, if all of it fits now."""
    if app.target_generation <= app.last_generation or not app.partition:
        return None
    members: list[Member] = []
    for node_id, share in app.partition.items():
        node = state.nodes.get(node_id)
        if node is None or not _fits(state, node.report, app, share):
            return None
        ports = {m.port for _, m in live_members(state) if m.node_id == node_id}
        free = [port for port in range(20_000, 20_100) if port not in ports]
        each = len(share.devices) // share.count
        for index in range(share.count):
            devices = share.devices[index * each : (index + 1) * each]
            rank, port = len(members), free[index]
            members.append(Member(rank=rank, node_id=node_id, port=port, devices=devices))
    return GenerationStarted(
        app_id=app.app_id, generation=app.target_generation, members=tuple(members)
    )


def _fits(state: ClusterState, report: NodeReported, app: App, share: Slots) -> bool:
    there = [(a, m) for a, m in live_members(state) if m.node_id == report.node_id]
    used = total_of(other.demand for other, _ in there)
    taken = {uuid for _, member in there for uuid in member.devices}
    known = {device.uuid for device in report.devices}
    return (
        (used + app.demand * share.count).fits_in(report.capacity)
        and taken.isdisjoint(share.devices)
        and known.issuperset(share.devices)
    )
