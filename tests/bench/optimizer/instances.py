"""Clusters for benches and fuzzing, made from a seed: equal arguments give equal snapshots.

Two kinds: `paper`, the 20 servers of the Dorm paper scaled up (12 cores and 128 GiB each, every
fourth with one device), and `hetero`, four kinds of machines of which three tenths have devices.
Shapes of containers come from a catalog, as cloud instances do, or are unique to each application.
"""

from typing import Final

import attrs
import numpy as np

from events.units import Resources
from reconcilers.layout.snapshot import AppRequest, NodeOffer, Options, Snapshot

GIB: Final = 1 << 30
NODES_PER_RACK: Final = 16
MACHINES: Final = ((64, 192, 0), (96, 512, 0), (48, 256, 4), (96, 512, 8))  # cores, GiB, devices
MIX: Final = (0.55, 0.15, 0.10, 0.20)
WANTS_DEVICES: Final = {"paper": 0.12, "hetero": 0.45}
WEIGHTS, OF_WEIGHT = (1, 2, 4), (0.7, 0.2, 0.1)
LOAD: Final = 1.6  # what all maximums together would take, in clusters
HOUR_MS: Final = 3_600_000

Draw = np.random.Generator
Demand = tuple[int, int, int]


def cluster(kind: str, nodes: int) -> tuple[NodeOffer, ...]:
    """Return the machines of a cluster, in racks of 16."""
    if kind == "paper":
        rows = [(12, 128, int(index < max(1, nodes // 4))) for index in range(nodes)]
    else:
        counts = [int(part * nodes + 0.5) for part in MIX]
        counts[0] += nodes - sum(counts)
        rows = [row for row, count in zip(MACHINES, counts, strict=True) for _ in range(count)]
    return tuple(
        NodeOffer(
            node_id=f"n{index:05}", capacity=_amounts(row), rack=f"rack{index // NODES_PER_RACK}"
        )
        for index, row in enumerate(rows)
    )


def fresh(
    kind: str, nodes: int, apps: int, *, seed: int = 0, shapes: str = "catalog", gangs: float = 0.1
) -> Snapshot:
    """Return an empty cluster before which everybody waits.

    Args:
        kind: `paper` or `hetero`.
        nodes: Of the cluster.
        apps: That wait.
        seed: Of everything drawn.
        shapes: `catalog` or `unique`.
        gangs: Part of the applications whose minimum is at least half of their maximum.
    """
    offers = cluster(kind, nodes)
    return Snapshot(
        nodes=offers,
        apps=_apps(kind, offers, apps, seed=seed, shapes=shapes, gangs=gangs),
        options=Options(policy="utilization", loss_factor=0.1),
    )


def arrivals(
    kind: str, before: Snapshot, count: int, *, seed: int, shapes: str
) -> list[AppRequest]:
    """Return applications of the same kind as those of a snapshot, with ids of their own."""
    made = _apps(kind, before.nodes, max(count, len(before.apps)), seed=seed + 1000, shapes=shapes)
    return [_renamed(app, f"s{seed}-{app.app_id}") for app in made[:count]]


def _apps(
    kind: str,
    offers: tuple[NodeOffer, ...],
    count: int,
    *,
    seed: int,
    shapes: str,
    gangs: float = 0.1,
) -> tuple[AppRequest, ...]:
    draw = np.random.default_rng(seed)
    has_devices = draw.random(count) < WANTS_DEVICES[kind]
    demands = [_demand(draw, kind, shapes, wants) for wants in has_devices.tolist()]
    weights = draw.choice(WEIGHTS, count, p=OF_WEIGHT)
    base = draw.lognormal(0, 0.7, count)
    if kind == "paper":
        high = np.where(has_devices, draw.integers(1, 9, count), 32)
        low = np.ones(count, dtype=np.int64)
    else:
        high = _maximums(demands, base, has_devices, offers)
        part = draw.uniform(0.05, 0.5, count)
        is_gang = draw.random(count) < gangs
        part[is_gang] = draw.choice([0.5, 0.75, 1.0])
        low = np.clip(np.floor(part * high * (0.45 / 0.275)), 1, high).astype(np.int64)
    return tuple(
        AppRequest(
            app_id=f"a{index:05}",
            demand=_amounts(demand),
            min=int(low[index]),
            max=int(high[index]),
            weight=float(weights[index]),
            submitted_ms=index,
        )
        for index, demand in enumerate(demands)
    )


def _demand(draw: Draw, kind: str, shapes: str, wants_devices: bool) -> Demand:  # noqa: FBT001
    if kind == "paper":
        return (4, 32, 1) if wants_devices else ((2, 8, 0), (2, 6, 0))[draw.integers(2)]
    is_catalog = shapes == "catalog"
    if not wants_devices:
        if is_catalog:
            return int(draw.choice([2, 4, 8, 16, 32])), int(draw.choice([6, 8, 16, 32, 64])), 0
        return int(draw.integers(2, 33)), int(draw.integers(6, 65)), 0
    devices = int(draw.choice([1, 2, 4, 8], p=[0.4, 0.25, 0.2, 0.15]))
    cores = int(draw.choice([4, 6, 8]) if is_catalog else draw.integers(3, 13))
    memory = int(draw.choice([16, 32, 64]) if is_catalog else draw.integers(12, 97))
    return min(devices * cores, 96), min(devices * memory, 512), devices


def _maximums(
    demands: list[Demand],
    base: np.ndarray[tuple[int], np.dtype[np.float64]],
    has_devices: np.ndarray[tuple[int], np.dtype[np.bool_]],
    offers: tuple[NodeOffer, ...],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return maximums that would together take `LOAD` times the devices, and most of the cores."""
    high = np.ones(len(demands))
    devices = sum(offer.capacity.gpu_count for offer in offers)
    cores = sum(offer.capacity.cpu_milli for offer in offers) // 1000
    for mine, resource, room in (
        (has_devices, 2, LOAD * devices),
        (~has_devices, 0, LOAD * 0.75 * cores),
    ):
        asked = (base * [demand[resource] for demand in demands])[mine].sum()
        high[mine] = base[mine] * room / max(asked, 1)
    return np.clip(np.round(high), 1, None).astype(np.int64)


def _amounts(row: Demand) -> Resources:
    cores, memory, devices = row
    return Resources(cpu_milli=cores * 1000, memory_bytes=memory * GIB, gpu_count=devices)


def _renamed(app: AppRequest, app_id: str) -> AppRequest:
    return attrs.evolve(app, app_id=app_id)
