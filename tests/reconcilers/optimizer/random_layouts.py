"""Short histories of random clusters, made from a seed, for the fuzz test."""

from collections.abc import Iterator
from typing import Final

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.decision import Decision
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer, Snapshot, SpeedPoint
from tests.bench.optimizer.instances import GIB, fresh
from tests.bench.optimizer.rounds import after, churned, without

STEPS: Final = 2  # events after the first decision
MINUTE_MS: Final = 60_000
SERVER: Final = Resources(cpu_milli=2000, memory_bytes=4 * GIB)

Draw = np.random.Generator


@attrs.define
class History:
    """A cluster, and what happens to it; which decisions are made is up to the caller."""

    seed: int
    draw: Draw = attrs.field(init=False)
    kind: str = attrs.field(init=False)
    shapes: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Draw what the whole history has in common."""
        self.draw = np.random.default_rng([self.seed, 0xD0])
        self.kind = str(self.draw.choice(["paper", "hetero"]))
        self.shapes = str(self.draw.choice(["catalog", "unique"]))

    def first(self) -> Snapshot:
        """Return the empty cluster, with everything that makes layouts hard."""
        draw = self.draw
        nodes, apps = int(draw.integers(1, 17)), int(draw.integers(1, 25))
        gangs = float(draw.uniform(0, 0.4))
        made = fresh(self.kind, nodes, apps, seed=self.seed, shapes=self.shapes, gangs=gangs)
        options = attrs.evolve(
            made.options,
            policy=str(draw.choice(["goodput", "utilization"])),
            loss_factor=float(draw.choice([0.0, 0.1, 0.2])),
            touch_factor=float(draw.choice([0.0, 0.1, 0.5])),
            certify=bool(draw.random() < 0.5),
            search_rounds=int(draw.choice([0, 8])),
        )
        roles, tiers = float(draw.choice([0.0, 0.3])), float(draw.choice([0.0, 0.3]))
        return attrs.evolve(
            made,
            nodes=tuple(self._partly_used(node) for node in made.nodes),
            apps=tuple(self._decorated(app, roles, tiers) for app in made.apps),
            options=options,
        )

    def _partly_used(self, node: NodeOffer) -> NodeOffer:
        """Return a node, now and then with less room than it has capacity."""
        if self.draw.random() < 0.9:
            return node
        used = attrs.evolve(node.capacity * 1, cpu_milli=node.capacity.cpu_milli // 2)
        return attrs.evolve(node, available=used)

    def _decorated(self, app: AppRequest, roles: float, tiers: float) -> AppRequest:
        draw = self.draw
        load = float(draw.choice([0.5, 1.0, 2.0]))
        high = max(1, int(app.max * load))
        if draw.random() < roles:
            count = int(draw.integers(1, 4))
            app = attrs.evolve(app, roles=(FixedRole(name="ps", demand=SERVER, count=count),))
        if draw.random() < 0.3:
            pace = float(draw.uniform(0, 0.2))
            sizes = dict.fromkeys((1, 2, 4, 8, 16, high))
            points = (SpeedPoint(containers=n, speed=n / (1 + pace * (n - 1))) for n in sizes)
            app = attrs.evolve(app, speed=tuple(points))
        return attrs.evolve(
            app,
            min=min(app.min, high),
            max=high,
            priority=int(draw.random() < tiers),
            restart_ms=int(draw.choice([0, 30_000, 300_000])),
        )

    def follow(self, before: Snapshot, decision: Decision) -> Snapshot:
        """Return what comes after a decision: time, ends, arrivals, lost nodes; often several."""
        draw = self.draw
        minutes = int(draw.choice([1, 5, 11, 60]))
        now = after(before, decision, ran_ms=minutes * MINUTE_MS)
        if draw.random() < 0.7:
            part, seed = float(draw.choice([0.05, 0.3])), int(draw.integers(1 << 30))
            now = churned(self.kind, now, part, seed=seed, shapes=self.shapes)
        if draw.random() < 0.4 and len(now.nodes) > 1:
            count = int(draw.integers(1, max(2, len(now.nodes) // 4)))
            lost = draw.choice([node.node_id for node in now.nodes], count, replace=False)
            now = without(now, set(lost.tolist()))
        waited_ms = int(draw.choice([0, 20])) * MINUTE_MS
        return attrs.evolve(now, apps=tuple(_longer(app, waited_ms) for app in now.apps))


def _longer(app: AppRequest, waited_ms: int) -> AppRequest:
    is_waiting = not app.placement
    return attrs.evolve(app, waited_ms=app.waited_ms + waited_ms) if is_waiting else app


def histories(count: int, *, first: int = 0) -> Iterator[History]:
    """Yield so many histories."""
    return (History(seed) for seed in range(first, first + count))
