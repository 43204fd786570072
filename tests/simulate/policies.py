"""Small policies whose decisions a reader can work out by hand."""

from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, Snapshot


def first_come(snapshot: Snapshot) -> Decision:
    """Never disturb what runs; start the oldest waiting job as large as it fits, none before it."""
    free = {node.node_id: node.room for node in snapshot.nodes}
    placements = {app.app_id: dict(app.placement) for app in snapshot.apps if app.placement}
    demands = {app.app_id: app.demand for app in snapshot.apps}
    for app_id, placement in placements.items():
        for node_id, count in placement.items():
            free[node_id] -= demands[app_id] * count
    for app in snapshot.apps:
        if app.placement:
            continue
        placement = {}
        for node_id, room in free.items():
            count = min(app.demand.times_in(room), app.max - sum(placement.values()))
            if count:
                placement[node_id] = count
        if sum(placement.values()) < app.min:
            break
        placements[app.app_id] = placement
        for node_id, count in placement.items():
            free[node_id] -= app.demand * count
    return Decision(placements=placements)


def everyone_equal(snapshot: Snapshot) -> Decision:
    """Deal containers of one-node clusters out in turn, whatever runs now."""
    (node,) = snapshot.nodes
    free, sizes = node.room, {app.app_id: 0 for app in snapshot.apps}
    growing: list[AppRequest] = list(snapshot.apps)
    while growing:
        for app in list(growing):
            if sizes[app.app_id] == app.max or not app.demand.fits_in(free):
                growing.remove(app)
            else:
                sizes[app.app_id] += 1
                free -= app.demand
    return Decision(
        placements={app_id: {node.node_id: size} for app_id, size in sizes.items() if size}
    )
