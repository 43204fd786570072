"""From a snapshot to the arrays of a `Model`."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.optimizer.model import (
    RESOURCES,
    Bools,
    Floats,
    Ints,
    Model,
    Places,
    Role,
    share_of,
)
from reconcilers.layout.optimizer.shares import Claims, entitlement, fair_shares
from reconcilers.layout.optimizer.values import Sizes, concave, values
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Snapshot

CLASS_STEPS: Final = (
    64  # capacities that differ by less than this part of the largest are one class
)
PLENTY: Final = 1 << 40


@attrs.frozen(kw_only=True, eq=False)
class _Nodes:
    room: Ints
    total: Ints
    node_class: Ints
    classes: Ints
    class_room: Ints
    class_nodes: Ints
    index: dict[str, int]


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
    units = _units(apps)
    nodes = _nodes(snapshot.nodes, units)
    demands = _demands(apps, nodes, units)
    old = _old(apps, nodes.index)
    roles = _roles(apps, nodes.index, units)
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
    curves = [concave(app, kinds) if is_goodput else None for app in apps]
    worth = values(
        Sizes(
            low=demands.low,
            high=demands.high,
            old=np.minimum(old_size, demands.high),
            use=use,
            share=share,
            fair=fair,
            entitled=entitled,
            curves=curves,
            shortfall_price=options.shortfall_price if is_goodput else 0.0,
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
        order=_rack_order(snapshot.nodes),
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


def _amounts(resources: Resources) -> tuple[int, int, int]:
    return resources.cpu_milli, resources.memory_bytes, resources.gpu_count


def _resources(row: Ints, units: Sequence[int]) -> Resources:
    cpu, memory, gpus = (amount * unit for amount, unit in zip(row.tolist(), units, strict=True))
    return Resources(cpu_milli=cpu, memory_bytes=memory, gpu_count=gpus)


def _every_demand(apps: Sequence[AppRequest]) -> Iterator[tuple[int, int, int]]:
    for app in apps:
        yield _amounts(app.demand)
        for role in app.roles:
            yield _amounts(role.demand)


def _units(apps: Sequence[AppRequest]) -> tuple[int, ...]:
    """Return the greatest common divisor of all demands, by resource."""
    distinct = dict.fromkeys(_every_demand(apps))
    columns = zip(*distinct, strict=True) if distinct else ((), (), ())
    return tuple(math.gcd(*column) or 1 for column in columns)


def _nodes(offers: Sequence[NodeOffer], units: Sequence[int]) -> _Nodes:
    shape = (len(offers), len(RESOURCES))
    divisor = np.array(units, dtype=np.int64)
    capacity = np.array([_amounts(offer.capacity) for offer in offers], dtype=np.int64)
    room = np.array([_amounts(offer.room) for offer in offers], dtype=np.int64)
    capacity, room = capacity.reshape(shape) // divisor, room.reshape(shape) // divisor
    room = np.maximum(room, 0)
    step = np.maximum(capacity.max(axis=0, initial=1) // CLASS_STEPS, 1)
    _, node_class = np.unique(capacity // step, axis=0, return_inverse=True)
    node_class = node_class.reshape(-1)
    count = int(node_class.max(initial=-1)) + 1
    classes = np.zeros((count, len(RESOURCES)), dtype=np.int64)
    class_room = np.zeros_like(classes)
    np.maximum.at(classes, node_class, capacity)
    np.add.at(class_room, node_class, room)
    return _Nodes(
        room=room,
        total=capacity.sum(axis=0),
        node_class=node_class,
        classes=classes,
        class_room=class_room,
        class_nodes=np.bincount(node_class, minlength=count).astype(np.int64),
        index={offer.node_id: index for index, offer in enumerate(offers)},
    )


def _demands(apps: Sequence[AppRequest], nodes: _Nodes, units: Sequence[int]) -> _Demands:
    shape = (len(apps), len(RESOURCES))
    divisor = np.array(units, dtype=np.int64)
    one = np.array([_amounts(app.demand) for app in apps], dtype=np.int64).reshape(shape) // divisor
    fixed = np.zeros(shape, dtype=np.int64)
    for index, app in enumerate(apps):
        for role in app.roles:
            fixed[index] += np.array(_amounts(role.demand), dtype=np.int64) // divisor * role.count
    low = np.array([app.min for app in apps], dtype=np.int64)
    high = np.array([max(app.min, app.max) for app in apps], dtype=np.int64)
    most = np.zeros(len(apps), dtype=np.int64)
    for row, count in zip(nodes.classes, nodes.class_nodes, strict=True):
        each = np.where(one > 0, row // np.maximum(one, 1), PLENTY).min(axis=1)
        most += each * int(count)
    return _Demands(
        one=one, fixed=fixed, low=low, high=np.maximum(np.minimum(high, most), low),
        possible=most >= low,
    )  # fmt: skip


def _old(apps: Sequence[AppRequest], index: dict[str, int]) -> Places:
    rows = [
        (position, index[node_id], count)
        for position, app in enumerate(apps)
        for node_id, count in app.placement.items()
        if count > 0 and node_id in index
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    return Places(app=table[:, 0], node=table[:, 1], count=table[:, 2])


def _roles(
    apps: Sequence[AppRequest], index: dict[str, int], units: Sequence[int]
) -> tuple[Role, ...]:
    divisor = np.array(units, dtype=np.int64)
    return tuple(
        Role(
            app=position,
            name=role.name,
            demand=np.array(_amounts(role.demand), dtype=np.int64) // divisor,
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


def _by_class(old: Places, nodes: _Nodes, apps: int) -> Ints:
    by_class = np.zeros((apps, len(nodes.classes)), dtype=np.int64)
    np.add.at(by_class, (old.app, nodes.node_class[old.node]), old.count)
    return by_class


def _check(
    snapshot: Snapshot,
    nodes: _Nodes,
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
    nodes: _Nodes,
    demands: _Demands,
    stands: Bools,
    evicted: Bools,
    rests: Bools,
) -> Bools:
    """Return whose minimum is due: by tier, then those who run, who were evicted, who wait."""
    rank = np.where(stands, 0, np.where(evicted, 1, 2)).tolist()
    order = sorted(
        np.flatnonzero(demands.possible).tolist(),
        key=lambda index: (
            not rests[index],  # What may not be touched cannot make way for anybody.
            -apps[index].priority,
            rank[index],
            apps[index].submitted_ms,
            index,
        ),
    )
    minimum = demands.one * demands.low[:, None] + demands.fixed
    return entitlement(minimum, nodes.room.sum(axis=0), order)


def _fair(
    nodes: _Nodes, demands: _Demands, one: Floats, share: Floats, weight: Floats, entitled: Bools
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


def _rack_order(offers: Sequence[NodeOffer]) -> Ints:
    order = sorted(range(len(offers)), key=lambda index: (offers[index].rack.split("/"), index))
    return np.array(order, dtype=np.int64)
