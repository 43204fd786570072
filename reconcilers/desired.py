"""The desired document of each node: a projection of the state, and nothing else."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import attrs

from events.generations import Member
from events.state import App, Checkpoint, ClusterState, Generation, live_members
from reconcilers.documents import (
    NodeDocument,
    Peer,
    Seed,
    StopOrder,
    WantedContainer,
    container_name,
)

CANCEL_GRACE_MS_MAX: Final = 10_000  # the work is not wanted any more, but a clean end is kinder
FAILURE_GRACE_MS_MAX: Final = 3_000  # peers of a dead rank mostly hang: they will not save anything


def documents(state: ClusterState) -> dict[str, NodeDocument]:
    """Return the document of every node, by node id. Containers in order of submission and rank."""
    wanted: defaultdict[str, list[WantedContainer]] = defaultdict(list)
    peers: dict[str, tuple[Peer, ...]] = {}
    for app, member in live_members(state):
        generation = app.generation
        assert generation is not None, "a live member belongs to a generation"
        if app.app_id not in peers:
            peers[app.app_id] = _peers(state, app, generation)
        container = _container(app, generation, member, peers[app.app_id])
        wanted[member.node_id].append(container)
    return {
        node_id: _document(state, node_id, tuple(wanted[node_id]))
        for node_id in sorted(state.nodes)
    }


def plan(state: ClusterState, stored: Mapping[str, NodeDocument]) -> tuple[NodeDocument, ...]:
    """Return the documents to write: those that say something else than the stored ones.

    The document of a node that was forgotten is emptied: its containers count as gone, so an agent
    that comes back after all must not start what it finds there.

    A stored document from a later position is left alone: this reader is behind. A new epoch of the
    store makes every document new: agents obey none of another epoch.
    """
    nothing = {node_id: _document(state, node_id, ()) for node_id in sorted(stored)}
    changed = []
    for node_id, document in (nothing | documents(state)).items():
        old = stored.get(node_id)
        if old is None or not (_says_the_same(old, document) or old.position > document.position):
            changed.append(document)
    return tuple(changed)


def _document(
    state: ClusterState, node_id: str, containers: tuple[WantedContainer, ...]
) -> NodeDocument:
    node = state.nodes.get(node_id)
    return NodeDocument(
        node_id=node_id,
        revision=state.revision,
        epoch=state.store_epoch,
        containers=containers,
        tenure=node.report.tenure if node else "",
    )


def _says_the_same(old: NodeDocument, new: NodeDocument) -> bool:
    return attrs.evolve(old, revision=new.revision) == new


def _container(
    app: App, generation: Generation, member: Member, peers: tuple[Peer, ...]
) -> WantedContainer:
    spec = app.spec
    resume = _resumes(app, generation)
    kept = app.checkpoints if member.rank == 0 else ()
    return WantedContainer(
        app_id=app.app_id,
        app_name=spec.name,
        generation=generation.number,
        rank=member.rank,
        started=member.rank in generation.started,
        stop=_stop_order(app, generation),
        image=spec.image,
        command=(spec.resume or spec.start) if resume else spec.start,
        resume=resume,
        env=spec.env,
        demand=spec.resources,
        pids_max=spec.pids_max,
        devices=member.devices,
        mounts=spec.mounts,
        checkpoint_path=spec.checkpoint.path.replace("$DORM_APP_ID", app.app_id),
        grace_ms=spec.checkpoint.grace_ms,
        port=member.port,
        peers=peers,
        origin=generation.origin,
        epoch=generation.epoch,
        on_disconnect=spec.on_disconnect,
        seeds=tuple(_seed(checkpoint) for checkpoint in generation.seeds),
        oldest_kept=kept[-1].position if kept else None,
    )


def _resumes(app: App, generation: Generation) -> bool:
    """Return whether the generation goes on from something.

    Of an application that keeps its work where Dorm does not look, each later one may.
    """
    if not app.spec.checkpoint.path:
        return generation.number > 1
    return bool(generation.seeds)


def _seed(checkpoint: Checkpoint) -> Seed:
    return Seed(
        generation=checkpoint.generation,
        step=checkpoint.step,
        manifest_sha256=checkpoint.manifest_sha256,
        rejected=bool(checkpoint.rejected),
    )


def _stop_order(app: App, generation: Generation) -> StopOrder | None:
    stop = generation.stop
    if stop is None:
        return None
    policy = app.spec.checkpoint
    bound_ms = {"cancel": CANCEL_GRACE_MS_MAX, "failure": FAILURE_GRACE_MS_MAX}.get(
        stop.cause, policy.grace_ms
    )
    return StopOrder(
        signal=policy.signal, grace_ms=min(policy.grace_ms, bound_ms), reason=stop.cause
    )


def _peers(state: ClusterState, app: App, generation: Generation) -> tuple[Peer, ...]:
    return tuple(
        Peer(
            rank=member.rank,
            node_id=member.node_id,
            host=_host(state, app, generation, member),
            port=member.port,
        )
        for member in generation.members
    )


def _host(state: ClusterState, app: App, generation: Generation, member: Member) -> str:
    node = state.nodes.get(member.node_id)
    if node is not None and node.report.network == "host":
        return node.report.address
    return container_name(app.app_id, generation.number, member.rank)
