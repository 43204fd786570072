"""One layout decision on plain data: the call for everybody who is not a Dorm master.

A simulator or another scheduler poses its problem as a `Snapshot`, gets a `Decision`, and keeps
its own books. Nothing is read but the snapshot: no state of Dorm's, no clock, no file.

    >>> from events.units import Resources
    >>> from reconcilers.layout import AppRequest, NodeOffer, Options, Snapshot, decide
    >>> machine = Resources(cpu_milli=8000, memory_bytes=32 << 30, gpu_count=4)
    >>> worker = Resources(cpu_milli=1000, memory_bytes=4 << 30, gpu_count=1)
    >>> snapshot = Snapshot(
    ...     nodes=(
    ...         NodeOffer(node_id="n1", capacity=machine, rack="row1/rack1"),
    ...         NodeOffer(node_id="n2", capacity=machine, rack="row1/rack1"),
    ...     ),
    ...     apps=(
    ...         AppRequest(
    ...             app_id="runs", demand=worker, min=1, max=8, placement={"n1": 4, "n2": 4}
    ...         ),
    ...         AppRequest(app_id="waits", demand=worker, min=2, max=4, submitted_ms=1000),
    ...     ),
    ...     options=Options(policy="drf"),
    ... )
    >>> decision = decide(snapshot)
    >>> sorted((app_id, sum(nodes.values())) for app_id, nodes in decision.placements.items())
    [('runs', 4), ('waits', 4)]
    >>> decision.touched
    ('runs',)
    >>> decision.verdicts["waits"].limit.value
    'at its maximum'

Equal snapshots give equal decisions, bit by bit, if `Decision.version` is equal too. What the
snapshot grants already and no longer fits must not be in it: `ValueError`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import attrs

from events.codec import digest, to_json
from events.units import Resources
from reconcilers.layout.check import problems
from reconcilers.layout.decision import Decision
from reconcilers.layout.policies.drf.settle import drf
from reconcilers.layout.policies.static import static
from reconcilers.layout.policies.two_level import two_level
from reconcilers.layout.snapshot import AppRequest, Snapshot
from reconcilers.layout.sums import Part, as_resources, total, used_on

PROBLEMS_SHOWN: Final = 3

# Beyond these, sums of floats and of 64-bit numbers would be wrong, and wrong without a word.
CONTAINERS_MAX: Final = 1_000_000
AMOUNT_MAX: Final = 1 << 62
NUMBER_MAX: Final = 1 << 53
FLOAT_MAX: Final = 1e100
FACTOR_MAX: Final = 1e6

Policy = Callable[[Snapshot], Decision]


def decide(snapshot: Snapshot) -> Decision:
    """Return the layout that the policy of the snapshot's options makes of it.

    Every decision is checked by a validator that knows nothing of the policies. One of the
    optimizer that does not pass is never returned: fairness alone decides then, and `fallback`
    says why.

    Raises:
        ValueError: The snapshot contradicts itself.
    """
    for fault in _faults(snapshot):
        raise ValueError(fault)
    return checked(snapshot, _POLICIES[snapshot.options.policy])


def checked(snapshot: Snapshot, policy: Policy) -> Decision:
    """Return the decision of a policy, or that of fairness where it breaks a rule.

    Raises:
        AssertionError: Even that breaks a rule: a bug in Dorm.
    """
    decision = policy(snapshot)
    found, fallback = problems(snapshot, decision), ""
    if found and policy is not drf:
        fallback = f"{snapshot.options.policy} broke a rule: {'; '.join(found[:PROBLEMS_SHOWN])}"
        decision = drf(snapshot)
        found = problems(snapshot, decision)
    assert not found, f"unsound: {'; '.join(found[:PROBLEMS_SHOWN])}"
    return attrs.evolve(decision, input_hash=digest(to_json(snapshot)), fallback=fallback)


def _optimize(snapshot: Snapshot) -> Decision:
    if not (snapshot.nodes and snapshot.apps):
        return drf(snapshot)  # Nothing can be placed, and every policy says so.
    # Only who asks for the optimizer waits for numpy and the solver to be loaded.
    from reconcilers.layout.optimizer.solve import solve  # noqa: PLC0415 - see above

    return solve(snapshot)


_POLICIES: Final[Mapping[str, Policy]] = {
    "goodput": _optimize,
    "utilization": _optimize,
    "drf": drf,
    "static": static,
    "two-level": two_level,
}


def _faults(snapshot: Snapshot) -> Iterator[str]:
    """Yield what contradicts itself in a snapshot."""
    node_ids = [node.node_id for node in snapshot.nodes]
    app_ids = [app.app_id for app in snapshot.apps]
    for kind, ids in (("node", node_ids), ("application", app_ids)):
        if len(set(ids)) < len(ids):
            twice = next(one for index, one in enumerate(ids) if one in ids[:index])
            yield f"{kind} {twice} is in the snapshot twice"
    rules = snapshot.options
    if max(rules.loss_factor, rules.touch_factor, rules.shortfall_price) > FACTOR_MAX:
        yield f"the options have a factor or a price above {FACTOR_MAX:g}"
    capacity = total((node.capacity, 1) for node in snapshot.nodes)
    if max(_amounts(capacity)) > AMOUNT_MAX:
        yield f"the nodes together have {capacity}: no resource may be above {AMOUNT_MAX}"
    known = set(node_ids)
    parts = []
    for app in snapshot.apps:
        yield from _oversized(app)
        yield from _faults_of(app)
        yield from _faults_of_roles(app)
        for part in _parts(app):
            parts.append(part)
            if not known.issuperset(part[1]):
                strange = next(node_id for node_id in part[1] if node_id not in known)
                yield f"{app.app_id} has containers on {strange}, which is not in the snapshot"
    used = used_on(parts)
    for node in snapshot.nodes:
        if (sums := used.get(node.node_id)) and not (held := as_resources(sums)).fits_in(node.room):
            yield f"{node.node_id} has {node.room}, and holds {held} already"


def _faults_of(app: AppRequest) -> Iterator[str]:
    demand, size = app.demand, sum(app.placement.values())
    if app.max < app.min:
        yield f"{app.app_id} has a maximum of {app.max}, below its minimum of {app.min}"
    if not (demand.cpu_milli or demand.memory_bytes or demand.gpu_count):
        yield f"{app.app_id} asks for nothing"
    if any(min(nodes.values(), default=1) < 1 for _, nodes in _parts(app)):
        yield f"{app.app_id} has a placement of less than one container on a node"
    if size > app.max:
        yield f"{app.app_id} has {size} containers, above {app.max}"


def _faults_of_roles(app: AppRequest) -> Iterator[str]:
    if not (app.roles or app.role_placement):
        return
    wanted = {role.name: role.count for role in app.roles}
    if len(wanted) < len(app.roles):
        yield f"{app.app_id} has two roles of the same name"
    for name, nodes in app.role_placement.items():
        if name not in wanted:
            yield f"{app.app_id} has containers of role {name}, which it does not ask for"
        elif sum(nodes.values()) > wanted[name]:
            yield f"{app.app_id} has more containers of role {name} than {wanted[name]}"


def _oversized(app: AppRequest) -> Iterator[str]:
    """Yield which numbers are beyond all use."""
    counts: tuple[int, ...] = (app.min, app.max)
    demands: tuple[Resources, ...] = (app.demand,)
    if app.roles:
        counts = (*counts, *(role.count for role in app.roles))
        demands = (*demands, *(role.demand for role in app.roles))
    for demand in demands:
        amounts = _amounts(demand)
        if min(amounts) < 0 or max(amounts) > AMOUNT_MAX:
            yield f"{app.app_id} asks for {demand}: amounts are from 0 to {AMOUNT_MAX}"
    if max(counts) > CONTAINERS_MAX:
        yield f"{app.app_id} asks for more than {CONTAINERS_MAX} containers"
    if app.weight > FLOAT_MAX:
        yield f"{app.app_id} has a weight above {FLOAT_MAX:g}"
    if app.speed and max(point.speed for point in app.speed) > FLOAT_MAX:
        yield f"{app.app_id} has a speed above {FLOAT_MAX:g}"
    times = (app.submitted_ms, app.waited_ms, app.ran_ms or 0, app.age_ms, app.restart_ms)
    if min(app.priority, *times) < -NUMBER_MAX or max(app.priority, *times) > NUMBER_MAX:
        yield f"{app.app_id} has a priority or a time beyond {NUMBER_MAX}"


def _parts(app: AppRequest) -> tuple[Part, ...]:
    """Return the demand of each kind of container, and where containers of it are now."""
    if not app.roles:
        return ((app.demand, app.placement),)
    roles = [(role.demand, app.role_placement.get(role.name, {})) for role in app.roles]
    return ((app.demand, app.placement), *roles)


def _amounts(resources: Resources) -> tuple[int, int, int]:
    return resources.cpu_milli, resources.memory_bytes, resources.gpu_count
