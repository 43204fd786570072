"""A snapshot as arrays: what every step of the optimizer reads and none of them changes.

Notation, the same in all files: A applications, H nodes, C node classes (nodes of equal capacity),
R = 3 resources in the order cpu, memory, gpu; i an application, h a node, c a class, r a resource.
Amounts are integers in units of the greatest common divisor of all demands, so that node rooms that
no demand can tell apart are equal. Shares are fractions of the whole cluster.

The value of an application as a function of its size is linear between a few *points*
(`points[p, i]`, ascending, some repeated): `low`, the sizes around its fair share, its present
size, the knots of its speed curve, `high`. Gains are concave over 0 and the points, losses convex,
so that linear programs over them are exact relaxations.
"""

from collections.abc import Mapping
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from reconcilers.layout.snapshot import Snapshot

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RESOURCES: Final = ("cpu", "memory", "gpu")
EXCESS_PRICE: Final = 10.0  # per unit of share beyond the fairness bound: u_i / delta_i <= 3 < 10


@attrs.frozen(kw_only=True, eq=False)
class Places:
    """Containers on nodes as three parallel arrays, sorted by application, then node.

    Attributes:
        app, node, count: Index of the application, of the node, and containers there (>= 1).
    """

    app: Ints
    node: Ints
    count: Ints


@attrs.frozen(kw_only=True, eq=False)
class Role:
    """A fixed role: `count` containers of `demand` beside the elastic ones of application `app`.

    Attributes:
        places: Where they are now, by node index; empty while the application waits.
    """

    app: int
    name: str
    demand: Ints
    count: int
    places: Mapping[int, int]


@attrs.frozen(kw_only=True, eq=False)
class Model:
    """The arrays of one decision.

    Attributes:
        snapshot: What they were made from; ids, and the options in force.
        room: (H, R) what applications may use of each node.
        total: (R,) capacity of all nodes, in the same units.
        node_class: (H,) class of each node.
        classes: (C, R) capacity of one node of each class.
        class_room: (C, R) sum of `room` over the nodes of each class.
        class_nodes: (C,) number of nodes of each class.
        order: (H,) node indices in an order in which neighbours share racks.
        demand: (A, R) of one elastic container.
        fixed: (A, R) sum over the fixed roles; zero for most.
        use: (A,) u_i, what one container uses: the sum over resources of its fractions of `total`.
        share: (A,) delta_i, the dominant share of one container: the largest of those fractions.
        fixed_use, fixed_share: (A,) the same for the fixed roles together.
        weight: (A,).
        low, high: (A,) bounds of the size while running; `high` is also cut to what could ever fit.
        possible: (A,) its minimum fits into the empty cluster.
        tier: (A,) priority.
        running: (A,) has a partition that stands, and keeps at least `low` containers.
        rests: (A,) running, and within its minimum run time: stays exactly as it is.
        evicted: (A,) lost places it had: placed before those that wait, outside of the budget.
        yields: (A,) has a partition, but its room is due to a higher tier: it may lose all.
        overdue: (A,) waits, entitled, for longer than the budget may hold it back.
        entitled: (A,) its minimum fits beside those of all that come before it.
        fair: (A,) s^_i, floor-aware weighted dominant fair share; 0 where not entitled.
        old: Elastic containers as they are; of all applications, also those that yield.
        old_size: (A,) sum of `old`.
        old_class: (A, C) the same by class.
        roles: Fixed roles, in order of applications.
        points: (P, A) sizes between which gain and loss are linear.
        gain: (P, A) what each of these sizes is worth.
        loss: (P, A) loss of fairness at each of these sizes; see `values`.
        gain_zero, loss_zero: (A,) the same for no containers.
        gain_old, loss_old: (A,) the same for `old_size`.
        touch_cost: (A,) what disturbing a running application costs.
        loss_max: F, the most that all losses together may be.
        touches_max: K, the most running applications that may be disturbed.
    """

    snapshot: Snapshot
    room: Ints
    total: Ints
    node_class: Ints
    classes: Ints
    class_room: Ints
    class_nodes: Ints
    order: Ints
    demand: Ints
    fixed: Ints
    use: Floats
    share: Floats
    fixed_use: Floats
    fixed_share: Floats
    weight: Floats
    low: Ints
    high: Ints
    possible: Bools
    tier: Ints
    running: Bools
    rests: Bools
    evicted: Bools
    yields: Bools
    overdue: Bools
    entitled: Bools
    fair: Floats
    old: Places
    old_size: Ints
    old_class: Ints
    roles: tuple[Role, ...]
    points: Ints
    gain: Floats
    loss: Floats
    gain_zero: Floats
    loss_zero: Floats
    gain_old: Floats
    loss_old: Floats
    touch_cost: Floats
    loss_max: float
    touches_max: int

    @property
    def nodes(self) -> int:
        """Return H."""
        return len(self.room)

    @property
    def apps(self) -> int:
        """Return A."""
        return len(self.demand)


def share_of(amount: Ints, total: Ints) -> Floats:
    """Return fractions of `total`, resource by resource; 0 of what the cluster has nothing of.

    Args:
        amount: (..., R).
        total: (R,).
    """
    return np.where(total > 0, amount / np.maximum(total, 1), 0.0)
