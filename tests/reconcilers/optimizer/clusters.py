"""Clusters and applications for tests of the pattern program, made from a seed."""

from collections.abc import Sequence

import numpy as np

from events.units import Resources
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.optimizer.model import Ints, Model
from reconcilers.layout.optimizer.request import FillRequest
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot

GIB = 1 << 30
MACHINES = ((64, 192, 0), (96, 512, 0), (48, 256, 4), (96, 512, 8))
MIX = (0.55, 0.15, 0.10, 0.20)


def amounts(cpu: int, memory_gib: int, gpus: int = 0) -> Resources:
    """Return so many cores, GiB and devices."""
    return Resources(cpu_milli=cpu * 1000, memory_bytes=memory_gib * GIB, gpu_count=gpus)


def machines(count: int) -> tuple[NodeOffer, ...]:
    """Return nodes of four kinds, 16 to a rack."""
    kinds = [int(part * count + 0.5) for part in MIX]
    kinds[0] += count - sum(kinds)
    rows = [MACHINES[kind] for kind, many in enumerate(kinds) for _ in range(many)]
    return tuple(
        NodeOffer(node_id=f"n{index:05}", capacity=amounts(*row), rack=f"r{index // 16}")
        for index, row in enumerate(rows)
    )


def _demand(draw: np.random.Generator, *, unique: bool) -> tuple[int, int, int]:
    if draw.random() < 0.45:
        gpus = int(draw.choice([1, 2, 4, 8], p=[0.4, 0.25, 0.2, 0.15]))
        cpu = int(draw.integers(3, 13) if unique else draw.choice([4, 6, 8])) * gpus
        memory = int(draw.integers(12, 97) if unique else draw.choice([16, 32, 64])) * gpus
        return min(cpu, 96), min(memory, 512), gpus
    cpu = int(draw.integers(2, 33) if unique else draw.choice([2, 4, 8, 16, 32]))
    return cpu, int(draw.integers(6, 65) if unique else draw.choice([6, 8, 16, 32, 64])), 0


def cluster(
    nodes: int, apps: int, *, seed: int = 0, unique: bool = False, policy: str = "utilization"
) -> Snapshot:
    """Return an empty cluster in front of which more waits than it can hold."""
    draw = np.random.default_rng(seed)
    offers = machines(nodes)
    demands = [_demand(draw, unique=unique) for _ in range(apps)]
    sizes = draw.lognormal(0, 0.7, apps)
    high = np.ones(apps)
    for resource, load in ((2, 1.6), (0, 1.2)):
        mine = np.array([(demand[2] > 0) == (resource == 2) for demand in demands], dtype=bool)
        total = sum(
            (offer.capacity.cpu_milli // 1000, 0, offer.capacity.gpu_count)[resource]
            for offer in offers
        )
        asked = float((sizes * [demand[resource] for demand in demands])[mine].sum())
        high[mine] = np.clip(np.round(sizes[mine] * load * total / max(asked, 1.0)), 1, None)
    low = np.clip(np.floor(draw.uniform(0.08, 0.8, apps) * high), 1, high)
    weights = draw.choice([1.0, 2.0, 4.0], apps, p=[0.7, 0.2, 0.1])
    return Snapshot(
        nodes=offers,
        apps=tuple(
            AppRequest(
                app_id=f"a{index:05}",
                demand=amounts(*demand),
                min=int(low[index]),
                max=int(high[index]),
                weight=float(weights[index]),
                submitted_ms=index,
            )
            for index, demand in enumerate(demands)
        ),
        options=Options(policy=policy, loss_factor=0.1),
    )


def all_of(model: Model, **changes: object) -> FillRequest:
    """Return the request to place every application from nothing in all the room."""
    values: dict[str, object] = {
        "free": model.room.copy(),
        "apps": np.arange(model.apps),
        "kept": np.zeros(model.apps, dtype=np.int64),
        "must": np.zeros(model.apps, dtype=bool),
    }
    return FillRequest(**(values | changes))  # type: ignore[arg-type]


def model_of(nodes: Sequence[NodeOffer], apps: Sequence[AppRequest], **options: object) -> Model:
    """Return the model of a small situation."""
    return build(
        Snapshot(nodes=tuple(nodes), apps=tuple(apps), options=Options(**options))  # type: ignore[arg-type]
    )


def sizes_of(model: Model, app: Ints, count: Ints) -> Ints:
    """Return (A,) containers of each application."""
    size = np.zeros(model.apps, dtype=np.int64)
    np.add.at(size, app, count)
    return size
