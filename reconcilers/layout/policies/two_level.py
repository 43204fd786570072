"""Resource offers, as a two-level manager such as Mesos makes them.

The allocator offers all that is free to one framework at a time, the one with the lowest weighted
dominant share first. The framework takes what it can use, at least its minimum and at most its
maximum, or declines, and the next one is asked. Nothing is ever taken back: the allocator knows
neither what an application could do with less nor what another could do with more.

A framework that runs declines further offers. In Mesos it might take them; but an application of
fixed size between two checkpoints can use more containers only after a restart, which its own
scheduler would have to risk for an offer of unknown duration. So growth happens only at the
start, and whoever comes while much is free keeps much: the known weakness that Dorm is measured
against.

Source: Hindman et al., "Mesos: a platform for fine-grained resource sharing in the data center",
NSDI 2011, sections 2 and 3; the order of offers is that of its DRF allocator.
"""

from typing import Final

from reconcilers.layout.decision import Decision
from reconcilers.layout.policies.first_fit import Shelves
from reconcilers.layout.policies.outcome import conclude, size_in
from reconcilers.layout.policies.queue import split
from reconcilers.layout.snapshot import Snapshot

VERSION: Final = "two-level/1"


def two_level(snapshot: Snapshot) -> Decision:
    """Return the layout in which everything stays, and every waiting framework had an offer.

    All that wait have a share of nothing, so their turn is that of the queue.
    """
    shelves = Shelves(snapshot)
    kept, waiting = split(snapshot)
    for app in kept:
        shelves.keep(app)
    for app in waiting:
        shelves.place(app, least=app.min, most=app.max)
    layout = shelves.layout
    fair = {app.app_id: float(size_in(layout, app.app_id)) for app in snapshot.apps}
    return conclude(snapshot, layout, fair, version=VERSION)
