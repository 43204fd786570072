"""States to the JSON that the API answers with. `dorm.api.answers` has these shapes."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

from dorm.api.answers import (
    Amounts,
    AppPage,
    AppRow,
    ContainerRow,
    EventRow,
    NodeRow,
    Room,
    Summary,
)
from dorm.space.levels import Space
from dorm.spec import to_plain as spec_to_plain
from dorm.status import NodeStatus, Progress
from events.catalog import KIND_OF
from events.codec import to_plain
from events.layouts import size
from events.recorded import Recorded
from events.state import App, ClusterState, Generation, Node, live_members
from events.story import sentence
from events.units import Resources, total_of
from reconcilers.documents import container_name

Shape = dict[str, Any]
Statuses = Mapping[str, NodeStatus]


def app_row(app: App, statuses: Statuses) -> AppRow:
    """Return what a list of applications shows of one."""
    running = app.generation
    progress = progress_of(app, statuses)
    return {
        "id": app.app_id,
        "name": app.spec.name,
        "user": app.user,
        "phase": app.phase,
        "size": len(running.live) if running else 0,
        "granted": size(app.partition),
        "min": app.spec.scale.min,
        "max": app.spec.scale.max,
        "weight": app.spec.weight,
        "priority": app.spec.priority,
        "quarantine": app.quarantine,
        "generation": running.number if running else app.last_generation,
        "resizes": app.resizes,
        "failures": app.failures,
        "progress": to_plain(progress) if progress else None,
        "checkpoint_step": app.checkpoint_step,
        "submitted_at_ms": app.submitted_at_ms,
        "submitted_revision": app.submitted_revision,
        "outcome": to_plain(app.outcome) if app.outcome else None,
    }


def app_page(app: App, statuses: Statuses) -> AppPage:
    """Return everything about one application; `spec` can be submitted again."""
    running = app.generation
    return {
        **app_row(app, statuses),
        "partition": {node: slots.count for node, slots in sorted(app.partition.items())},
        "target_generation": app.target_generation,
        "decided_reason": app.decided_reason,
        "restart_ms": app.restart_ms,
        "speeds": [
            {"containers": size, "steps": speed.steps, "ms": speed.ms}
            for size, speed in sorted(app.speeds.items())
        ],
        "checkpoints": to_plain(app.checkpoints),
        "stop": to_plain(running.stop) if running and running.stop else None,
        "backoff": to_plain(app.backoff) if app.backoff else None,
        "cancel_requested": app.cancel_requested,
        "containers": _containers(running) if running else [],
        "spec": spec_to_plain(app.spec),
    }


def _containers(running: Generation) -> list[ContainerRow]:
    return [
        {
            "rank": member.rank,
            "node": member.node_id,
            "port": member.port,
            "devices": list(member.devices),
            "state": _container_state(running, member.rank),
            "exit": to_plain(running.exits[member.rank]) if member.rank in running.exits else None,
        }
        for member in running.members
    ]


def _container_state(running: Generation, rank: int) -> Literal["starting", "running", "exited"]:
    if rank in running.exits:
        return "exited"
    return "running" if rank in running.started else "starting"


def progress_of(app: App, statuses: Statuses) -> Progress | None:
    """Return the newest progress that any agent tells of the application."""
    told = [
        status.progress[app.app_id] for status in statuses.values() if app.app_id in status.progress
    ]
    return max(told, key=lambda progress: (progress.generation, progress.step), default=None)


def held_of(app: App, statuses: Statuses) -> dict[str, str]:
    """Return why containers of the application cannot be made yet, by their names."""
    if app.generation is None:
        return {}
    names = {
        container_name(app.app_id, app.generation.number, member.rank)
        for member in app.generation.live
    }
    told = (item for _, status in sorted(statuses.items()) for item in status.held.items())
    return {name: why for name, why in told if name in names}


def node_row(node: Node, state: ClusterState, statuses: Statuses) -> NodeRow:
    """Return what a list of nodes shows of one."""
    here = [app for app, member in live_members(state) if member.node_id == node.node_id]
    used, capacity = total_of(app.demand for app in here), node.report.capacity
    status = statuses.get(node.node_id)
    return {
        "id": node.node_id,
        "state": node.standing,
        "address": node.report.address,
        "network": node.report.network,
        "capacity": resources(capacity),
        "used": resources(used),
        "free": resources(capacity - used),
        "containers": len(here),
        "apps": sorted({app.app_id for app in here}),
        "labels": dict(node.report.labels),
        "versions": dict(node.report.versions),
        "devices": to_plain(node.report.devices),
        "document_revision": status.document_revision if status else None,
        "held": dict(status.held) if status else {},
    }


def cluster_summary(state: ClusterState) -> Summary:
    """Return what the whole cluster has, uses and runs. A lost node's capacity does not count."""
    ready = [node for node in state.nodes.values() if not node.lost]
    ids = {node.node_id for node in ready}
    total = total_of(node.report.capacity for node in ready)
    used = total_of(app.demand for app, member in live_members(state) if member.node_id in ids)
    apps = (*state.apps.values(), *state.finished.values())
    return {
        "nodes": {"ready": len(ready), "lost": len(state.nodes) - len(ready)},
        "total": resources(total),
        "used": resources(used),
        "free": resources(total - used),
        "apps": dict(sorted(Counter(app.phase for app in apps).items())),
    }


def space(space: Space) -> Room:
    """Return how full etcd is; `members` is empty while none of them has answered."""
    fullest = space.fullest
    return {
        "level": space.level.name.lower(),
        "fill": round(fullest.fill, 4) if fullest else None,
        "text": str(space),
        "members": [
            {
                "endpoint": one.endpoint,
                "db_bytes": one.db_bytes,
                "in_use_bytes": one.in_use_bytes,
                "quota_bytes": one.quota_bytes,
                "no_space": one.no_space,
            }
            for one in space.members
        ],
    }


def resources(amount: Resources) -> Amounts:
    """Return an amount with its units in the names."""
    return {
        "cpu_milli": amount.cpu_milli,
        "memory_bytes": amount.memory_bytes,
        "gpu_count": amount.gpu_count,
    }


def event_row(recorded: Recorded) -> EventRow:
    """Return one event, and the sentence that tells it."""
    return {
        "revision": recorded.revision,
        "segment": recorded.segment,
        "id": recorded.event_id,
        "kind": KIND_OF[type(recorded.event)],
        "at_ms": recorded.stamp.at_ms,
        "actor": recorded.stamp.actor,
        "cause": recorded.stamp.cause,
        "text": sentence(recorded),
        "data": to_plain(recorded.event),
    }
