"""Situations for tests of whole decisions, and what follows from them."""

from collections.abc import Mapping

import attrs

from events.units import Resources
from reconcilers.layout.check import problems
from reconcilers.layout.decision import Decision
from reconcilers.layout.optimizer.solve import solve
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot

CPU = Resources(cpu_milli=1000, memory_bytes=1 << 30)
GPU = Resources(cpu_milli=1000, memory_bytes=1 << 30, gpu_count=1)


def nodes(count: int, each: Resources) -> tuple[NodeOffer, ...]:
    """Return equal nodes, two to a rack."""
    return tuple(
        NodeOffer(node_id=f"n{index}", capacity=each, rack=f"r{index // 2}")
        for index in range(count)
    )


def app(app_id: str, low: int, high: int, **fields: object) -> AppRequest:
    """Return an application whose containers take one CPU."""
    values: dict[str, object] = {"demand": CPU, "min": low, "max": high}
    return AppRequest(app_id=app_id, **(values | fields))  # type: ignore[arg-type]


def decide(offers: tuple[NodeOffer, ...], *apps: AppRequest, **options: object) -> Decision:
    """Return the sound decision on a situation."""
    settings = Options(**options)  # type: ignore[arg-type]
    return decided(Snapshot(nodes=offers, apps=apps, options=settings))


def decided(snapshot: Snapshot) -> Decision:
    """Return a decision that breaks no rule."""
    decision = solve(snapshot)
    assert () == problems(snapshot, decision)
    return decision


def sizes(decision: Decision) -> Mapping[str, int]:
    """Return containers by application."""
    return {app_id: sum(slots.values()) for app_id, slots in decision.placements.items()}


def carried_out(snapshot: Snapshot, decision: Decision, *, waited_ms: int = 0) -> Snapshot:
    """Return the situation in which a decision is carried out, and everyone may change again."""
    apps = []
    for request in snapshot.apps:
        places = decision.placements.get(request.app_id, {})
        roles = decision.role_placements.get(request.app_id, {})
        waits = 0 if places else request.waited_ms + waited_ms
        apps.append(
            attrs.evolve(
                request,
                placement=dict(places),
                role_placement={name: dict(slots) for name, slots in roles.items()},
                waited_ms=waits,
                ran_ms=None,
                is_evicted=False,
            )
        )
    return attrs.evolve(snapshot, apps=tuple(apps))
