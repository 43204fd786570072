"""From a snapshot to the arrays of a `Model`."""

import math
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.optimizer.model import (
    Bools,
    Floats,
    Ints,
    Model,
    Places,
    Role,
    share_of,
)
from reconcilers.layout.optimizer.rooms import Rooms, amounts, rack_order
from reconcilers.layout.optimizer.shares import Claims, entitlement, fair_shares
from reconcilers.layout.optimizer.values import Sizes, curves, values
from reconcilers.layout.snapshot import AppRequest, Snapshot

PLENTY: Final = 1 << 40


@attrs.frozen(kw_only=True, eq=False)
class _Demands:
    one: Ints
    fixed: Ints
    low: Ints
    high: Ints
    possible: Bools


def build(snapshot: Snapshot) -> Model:
    """Return the model of a snapshot.

    Raises:
        ValueError: A node holds more than its room, or an application more than its maximum; the
            caller decides first what of it can stand.
    """
    apps, options = snapshot.apps, snapshot.options
    demand = amounts([app.demand for app in apps])
    units = _units(apps, demand)
    nodes = Rooms.of(snapshot.nodes, units)
    roles = _roles(apps, nodes.index, units)
    demands = _demands(apps, demand // units, nodes, roles)
    old = _old(apps, nodes.index)
    old_size = np.bincount(old.app, weights=old.count, minlength=len(apps)).astype(np.int64)
    _check(snapshot, nodes, demands, old, old_size, roles)
    stands = (old_size > 0) & (old_size >= demands.low)
    evicted = np.array([app.is_evicted for app in apps], dtype=bool) | (
        (old_size > 0) & (old_size < demands.low)
    )
    stands = stands & ~evicted
    rests = stands & np.array([options.rests(app) for app in apps], dtype=bool)
    entitled = _entitled(apps, nodes, demands, stands, evicted, rests)
    yields = stands & ~entitled
    running = stands & entitled
    one = share_of(demands.one, nodes.total)
    fixed = share_of(demands.fixed, nodes.total)
    use, share = (one[:, 0] + one[:, 1]) + one[:, 2], one.max(axis=1, initial=0.0)
    weight = np.array([app.weight for app in apps], dtype=np.float64)
    fair = _fair(nodes, demands, one, share, weight, entitled)
    is_goodput = options.policy == "goodput"
    kinds = [_resources(row, units) for row in nodes.classes]
    speeds = curves(apps, kinds) if is_goodput else [None] * len(apps)
    worth = values(
        Sizes(
            low=demands.low,
            high=demands.high,
            old=np.minimum(old_size, demands.high),
            use=use,
            share=share,
            fair=fair,
            entitled=entitled,
            curves=speeds,
            shortfall_price=options.shortfall_price if is_goodput else 0.0,
            counts_surplus=not is_goodput,
        )
    )
    restart = np.array([app.restart_ms for app in apps], dtype=np.float64) / options.horizon_ms
    produced = worth.gain_old - worth.gain_zero
    waited = np.array([app.waited_ms for app in apps], dtype=np.int64)
    return Model(
        snapshot=snapshot,
        room=nodes.room,
        total=nodes.total,
        node_class=nodes.node_class,
        classes=nodes.classes,
        class_room=nodes.class_room,
        class_nodes=nodes.class_nodes,
        order=rack_order(snapshot.nodes),
        demand=demands.one,
        fixed=demands.fixed,
        use=use,
        share=share,
        fixed_use=(fixed[:, 0] + fixed[:, 1]) + fixed[:, 2],
        fixed_share=fixed.max(axis=1, initial=0.0),
        weight=weight,
        low=demands.low,
        high=demands.high,
        possible=demands.possible,
        tier=np.array([app.priority for app in apps], dtype=np.int64),
        running=running,
        rests=rests,
        evicted=evicted,
        yields=yields,
        overdue=~stands & ~evicted & entitled & (waited >= options.gang_wait_ms),
        entitled=entitled,
        fair=fair,
        old=old,
        old_size=old_size,
        old_class=_by_class(old, nodes, len(apps)),
        roles=roles,
        points=worth.points,
        gain=worth.gain,
        loss=worth.loss,
        gain_zero=worth.gain_zero,
        loss_zero=worth.loss_zero,
        gain_old=worth.gain_old,
        loss_old=worth.loss_old,
        touch_cost=np.where(running & is_goodput, restart * np.maximum(produced, 0.0), 0.0),
        loss_max=options.loss_factor * 2 * int((nodes.total > 0).sum()),
        touches_max=math.ceil(options.touch_factor * int(running.sum()) - 1e-9),
    )


def _resources(row: Ints, units: Ints) -> Resources:
    cpu, memory, gpus = (row * units).tolist()
    return Resources(cpu_milli=cpu, memory_bytes=memory, gpu_count=gpus)


def _units(apps: Sequence[AppRequest], demand: Ints) -> Ints:
    """Return the greatest common divisor of all demands, by resource."""
    roles = amounts([role.demand for app in apps for role in app.roles])
    units = np.gcd.reduce(np.concatenate([demand, roles]), axis=0, initial=0)
    found: Ints = np.maximum(units, 1)
    return found


def _demands(
    apps: Sequence[AppRequest], one: Ints, nodes: Rooms, roles: Sequence[Role]
) -> _Demands:
    fixed = np.zeros_like(one)
    for role in roles:
        fixed[role.app] += role.demand * role.count
    low = np.array([app.min for app in apps], dtype=np.int64)
    high = np.maximum(low, np.array([app.max for app in apps], dtype=np.int64))
    most = np.zeros(len(apps), dtype=np.int64)
    for row, count in zip(nodes.classes, nodes.class_nodes.tolist(), strict=True):
        most += np.where(one > 0, row // np.maximum(one, 1), PLENTY).min(axis=1) * count
    return _Demands(
        one=one, fixed=fixed, low=low, high=np.maximum(np.minimum(high, most), low),
        possible=most >= low,
    )  # fmt: skip


def _old(apps: Sequence[AppRequest], index: dict[str, int]) -> Places:
    sizes = np.array([len(app.placement) for app in apps], dtype=np.int64)
    app = np.repeat(np.arange(len(apps)), sizes)
    node = np.array([index.get(key, -1) for app in apps for key in app.placement], dtype=np.int64)
    count = np.array([many for app in apps for many in app.placement.values()], dtype=np.int64)
    order = np.argsort(app * len(index) + node, kind="stable")
    order = order[(node[order] >= 0) & (count[order] > 0)]
    return Places(app=app[order], node=node[order], count=count[order])


def _roles(apps: Sequence[AppRequest], index: dict[str, int], units: Ints) -> tuple[Role, ...]:
    return tuple(
        Role(
            app=position,
            name=role.name,
            demand=amounts([role.demand])[0] // units,
            count=role.count,
            places={
                index[node_id]: count
                for node_id, count in sorted(app.role_placement.get(role.name, {}).items())
                if count > 0 and node_id in index
            },
        )
        for position, app in enumerate(apps)
        for role in app.roles
    )


def _by_class(old: Places, nodes: Rooms, apps: int) -> Ints:
    by_class = np.zeros((apps, len(nodes.classes)), dtype=np.int64)
    np.add.at(by_class, (old.app, nodes.node_class[old.node]), old.count)
    return by_class


def _check(
    snapshot: Snapshot,
    nodes: Rooms,
    demands: _Demands,
    old: Places,
    old_size: Ints,
    roles: Sequence[Role],
) -> None:
    used = np.zeros_like(nodes.room)
    np.add.at(used, old.node, demands.one[old.app] * old.count[:, None])
    for role in roles:
        for node, count in role.places.items():
            used[node] += role.demand * count
    for node in np.flatnonzero((used > nodes.room).any(axis=1)).tolist():
        msg = f"node {snapshot.nodes[node].node_id} holds more than it has room for"
        raise ValueError(msg)
    for index in np.flatnonzero(old_size > np.array([app.max for app in snapshot.apps])).tolist():
        app = snapshot.apps[index]
        msg = f"application {app.app_id} has {old_size[index]} containers, above max ({app.max})"
        raise ValueError(msg)


def _entitled(
    apps: Sequence[AppRequest],
    nodes: Rooms,
    demands: _Demands,
    stands: Bools,
    evicted: Bools,
    rests: Bools,
) -> Bools:
    """Return whose minimum is due: by tier, then those who run, who were evicted, who wait."""
    rank = np.where(stands, 0, np.where(evicted, 1, 2))
    tier = np.array([app.priority for app in apps], dtype=np.int64)
    submitted = np.array([app.submitted_ms for app in apps], dtype=np.int64)
    # What may not be touched comes first: it cannot make way for anybody.
    order = np.lexsort((submitted, rank, -tier, ~rests))
    minimum = demands.one * demands.low[:, None] + demands.fixed
    return entitlement(minimum, nodes.room.sum(axis=0), order[demands.possible[order]])


def _fair(
    nodes: Rooms, demands: _Demands, one: Floats, share: Floats, weight: Floats, entitled: Bools
) -> Floats:
    if not len(share):
        return share
    fixed = share_of(demands.fixed[entitled].sum(axis=0), nodes.total)
    left = share_of(nodes.room.sum(axis=0), nodes.total) - fixed
    claims = Claims(
        use=one / np.maximum(share, 1e-300)[:, None],
        floor=np.where(entitled, demands.low * share, 0.0),
        ceiling=np.where(entitled, demands.high * share, 0.0),
        weight=weight,
    )
    return fair_shares(claims, left)
