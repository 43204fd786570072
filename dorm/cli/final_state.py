"""The state that a history adds up to, as tables. Nothing in it depends on when it is printed."""

from rich.console import Group, RenderableType
from rich.text import Text

from dorm.api.shapes import node_row
from dorm.cli.output import pairs, table
from events.layouts import size
from events.snapshot import state_hash
from events.state import App, ClusterState
from events.text import memory


def final_state(state: ClusterState) -> RenderableType:
    """Return the state as tables of applications and nodes, with its revision and hash."""
    apps = sorted(
        (*state.finished.values(), *state.apps.values()),
        key=lambda app: (app.submitted_revision, app.app_id),
    )
    ignored = ", ".join(f"{count} {reason}" for reason, count in sorted(state.ignored.items()))
    return Group(
        pairs(
            [
                ("Revision", state.revision),
                ("State", state_hash(state)),
                ("Leader", f"{state.leader}, epoch {state.epoch}" if state.leader else ""),
                ("Ignored", ignored),
            ]
        ),
        Text(),
        table(
            ("APP", "PHASE", "SIZE", "GRANTED", "GEN", "RESIZES", "SAVED STEP", "WEIGHT", "REASON"),
            [_app(app) for app in apps],
            empty="No applications.",
        ),
        Text(),
        table(
            ("NODE", "STATE", "CPUS USED", "MEMORY USED", "GPUS USED", "CONTAINERS"),
            [_node(state, node_id) for node_id in sorted(state.nodes)],
            empty="No nodes.",
        ),
    )


def _app(app: App) -> tuple[object, ...]:
    return (
        app.app_id,
        app.phase,
        len(app.generation.live) if app.generation else 0,
        size(app.partition),
        app.last_generation,
        app.resizes,
        app.checkpoint_step,
        f"{app.spec.weight:g}",
        app.outcome.reason if app.outcome else app.decided_reason,
    )


def _node(state: ClusterState, node_id: str) -> tuple[object, ...]:
    row = node_row(state.nodes[node_id], state, {})
    used, capacity = row["used"], row["capacity"]
    return (
        node_id,
        row["state"],
        f"{used['cpu_milli'] / 1000:g} / {capacity['cpu_milli'] / 1000:g}",
        f"{memory(used['memory_bytes'])} / {memory(capacity['memory_bytes'])}",
        f"{used['gpu_count']} / {capacity['gpu_count']}",
        row["containers"],
    )
