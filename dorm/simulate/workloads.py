"""Generated workloads, each from a seed."""

import functools
import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from dorm.simulate.failures import generator
from dorm.simulate.job import Curve, Job
from events.units import Resources

GIB: Final = 1 << 30
ARRIVAL_MEAN_S: Final = 1_200.0
LENGTH_MEAN_S: Final = 18_000.0
LENGTH_SIGMA: Final = 0.6


def paper(seed: int, *, apart_s: float = ARRIVAL_MEAN_S) -> tuple[Job, ...]:
    """Return the applications of the Dorm paper's evaluation (section V).

    20 logistic regressions and 20 matrix factorisations of up to 32 containers, and 10 neural
    networks on GPUs of up to 1 to 8, in random order. They arrive 20 minutes apart on average
    (exponential), and run for 5 hours on average at their reference size (lognormal): 8
    containers, 2 for the networks. The paper states demands, weights and arrivals; how long
    they run and how the speed grows with the size it does not, so both are drawn.

    Args:
        seed: Another one is another workload.
        apart_s: Mean time between two arrivals. Nothing else depends on it: with the same seed
            the same applications arrive in the same order, only closer together or farther apart.
    """
    chance = generator("paper", seed)
    kinds = ["LR"] * 20 + ["MF"] * 20 + ["GPU"] * 10
    chance.shuffle(kinds)
    jobs: list[Job] = []
    at_s = 0.0
    for number, kind in enumerate(kinds):
        at_s += chance.expovariate(1 / apart_s)
        jobs.append(_application(chance, kind, number, round(at_s * 1000)))
    return tuple(jobs)


WORKLOADS: Final[Mapping[str, Callable[[int], tuple[Job, ...]]]] = {
    "paper": paper,
    "paper-30m": functools.partial(paper, apart_s=1_800.0),
    "paper-40m": functools.partial(paper, apart_s=2_400.0),
}


def _application(chance: Random, kind: str, number: int, submitted_ms: int) -> Job:
    # A lognormal variable has the mean exp(mu + sigma^2 / 2).
    mu = math.log(LENGTH_MEAN_S) - LENGTH_SIGMA**2 / 2
    alone_s = chance.lognormvariate(mu, LENGTH_SIGMA)
    if kind == "GPU":
        demand = Resources(cpu_milli=4_000, memory_bytes=32 * GIB, gpu_count=1)
        weight, most = chance.choice((1.0, 2.0, 4.0)), chance.choice((1, 2, 4, 8))
        reference, alpha = min(2, most), chance.uniform(0.03, 0.1)
    else:
        memory, weight = (8, 1.0) if kind == "LR" else (6, 2.0)
        demand = Resources(cpu_milli=2_000, memory_bytes=memory * GIB)
        most, reference, alpha = 32, 8, chance.uniform(0.005, 0.03)
    return Job(
        app_id=f"{kind.lower()}-{number:02d}",
        name=f"{kind.lower()}-{number:02d}",
        kind=kind,
        submitted_ms=submitted_ms,
        demand=demand,
        min=1,
        max=most,
        reference=reference,
        alone_s=alone_s,
        weight=weight,
        curve=Curve(alpha=alpha),
    )
