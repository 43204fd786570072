"""What a layout depends on, as a hash: while it is the same, there is nothing to decide anew.

The partitions in force are left out: they are the answer. So are all times: how long somebody
waits or has run comes into a decision, but only `layout.due` makes that a reason for one.
"""

import attrs

from events.codec import digest, to_json
from events.state import App, ClusterState
from reconcilers.layout.pose import rack_of
from reconcilers.layout.problem import Treatment, in_order, treatment
from reconcilers.layout.speed import curve


def problem_hash(state: ClusterState) -> str:
    """Return the sha256 of the problem that a state poses, in canonical form."""
    nodes = [
        (
            node_id,
            node.report.capacity,
            [device.uuid for device in node.report.devices],
            rack_of(node.report.labels),
        )
        for node_id, node in sorted(state.nodes.items())
        if not node.lost
    ]
    apps = [
        _asked(app, kind)
        for app in in_order(state)
        if (kind := treatment(state, app)) is not Treatment.LEAVING
    ]
    return digest(to_json((attrs.asdict(state.rules), nodes, apps)))


def _asked(app: App, kind: Treatment) -> tuple[object, ...]:
    """Return what a layout depends on: all that a contender asks for, else only its room."""
    if kind is Treatment.CONTENDS:
        spec = app.spec
        return app.app_id, app.demand, spec.scale, spec.weight, spec.priority, curve(app)
    used = app.generation.live if app.generation and kind is Treatment.PINNED else ()
    places = [(member.node_id, member.devices) for member in used]
    return app.app_id, kind.value, app.demand, places
