"""Fixed partitions, first come first served: what a cluster without elasticity does.

Every application gets `static_containers` containers, or as near to that as its bounds allow, all
at once, and keeps them to its end. Nobody overtakes: while the first in the queue does not fit,
all wait. Only who could not even have the empty cluster is passed over, or nothing would ever
start again.

It stands for monolithic managers that allocate once, such as Docker Swarm or a plain batch queue;
the baseline that Dorm's paper compares with.

Source: Sun et al., "Towards distributed machine learning in shared clusters: a dynamically-
partitioned approach", SMARTCOMP 2017 (the "static" allocation of its evaluation).
"""

from typing import Final

from reconcilers.layout.decision import Decision
from reconcilers.layout.policies.first_fit import Shelves
from reconcilers.layout.policies.outcome import conclude
from reconcilers.layout.policies.queue import split
from reconcilers.layout.snapshot import AppRequest, Snapshot

VERSION: Final = "static/1"


def static(snapshot: Snapshot) -> Decision:
    """Return the layout in which everything stays, and the head of the queue is placed."""
    shelves = Shelves(snapshot)
    kept, waiting = split(snapshot)
    for app in kept:
        shelves.keep(app)
    sizes = {app.app_id: fixed_size(app, snapshot) for app in snapshot.apps}
    for app in waiting:
        size = sizes[app.app_id]
        if not shelves.place(app, least=size, most=size) and _fits_at_all(snapshot, app, size):
            break
    fair = {app_id: float(size) for app_id, size in sizes.items()}
    return conclude(snapshot, shelves.layout, fair, version=VERSION)


def fixed_size(app: AppRequest, snapshot: Snapshot) -> int:
    """Return how many containers an application gets, once and for all."""
    return min(max(snapshot.options.static_containers, app.min), app.max)


def _fits_at_all(snapshot: Snapshot, app: AppRequest, size: int) -> bool:
    """Return whether the empty cluster has room for it."""
    return Shelves(snapshot).place(app, least=size, most=size)
