"""How far the shares that jobs have are from fair ones, measured alike for every policy."""

import math
from collections.abc import Sequence

import attrs
import numpy as np

from dorm.simulate.app_run import AppRun
from events.units import Resources
from reconcilers.layout.optimizer.model import Bools, Floats, Ints
from reconcilers.layout.optimizer.shares import Claims, entitlement, fair_shares


@attrs.frozen(kw_only=True)
class Loss:
    """The sum over jobs of |dominant share - fair share|.

    Attributes:
        floor_aware: Against shares that respect minimums; a job whose minimum does not fit beside
            those of older jobs is due nothing.
        paper: Against the paper's shares (equation 3, figure 7): dominant-resource fairness of
            all jobs in one pool, where minimums do not count.
    """

    floor_aware: float = 0.0
    paper: float = 0.0


def loss_of(runs: Sequence[AppRun], total: Resources) -> Loss:
    """Return the fairness loss of all jobs between submit and end.

    Bounds are those of the trace, not of a policy that turns jobs into rigid ones: what is fair
    does not depend on the policy.
    """
    if not runs or total == Resources():
        return Loss()
    pool = np.array(_amounts(total), dtype=np.int64)
    demand = np.array([_amounts(run.asked.demand) for run in runs], dtype=np.int64)
    minimum = np.array([run.asked.min for run in runs], dtype=np.int64)
    maximum = np.array([run.asked.max for run in runs], dtype=np.int64)
    weight = np.array([run.asked.weight for run in runs], dtype=np.float64)
    size = np.array([run.size for run in runs], dtype=np.int64)
    part = np.where(pool > 0, demand / np.maximum(pool, 1), 0.0)
    unit = part.max(axis=1)  # dominant share of one container
    use = part / np.where(unit > 0, unit, 1.0)[:, None]
    entitled = _entitled(demand * minimum[:, None], pool, _order(runs))
    floor = np.where(entitled, unit * minimum, 0.0)
    ceiling = np.where(entitled, unit * maximum, 0.0)
    zero = np.zeros(len(runs))
    fair = _shares(use, floor, ceiling, weight)
    pooled = _shares(use, zero, unit * maximum, weight)
    return Loss(
        floor_aware=math.fsum(np.abs(unit * size - fair)),
        paper=math.fsum(np.abs(unit * size - pooled)),
    )


def _entitled(minimum: Ints, pool: Ints, order: Ints) -> Bools:
    """Return whose minimum fits beside those before it, without a look at each of a long queue.

    Those before the first that does not fit are entitled; of the others only those count whose
    minimum fits into what is left by then.
    """
    reached = np.cumsum(minimum[order], axis=0)
    over = np.flatnonzero((reached > pool).any(axis=1))
    first = int(over[0]) if len(over) else len(order)
    left = pool - (reached[first - 1] if first else 0)
    entitled = np.zeros(len(order), dtype=bool)
    entitled[order[:first]] = True
    rest = order[first:]
    rest = rest[(minimum[rest] <= left).all(axis=1)]
    if len(rest):
        entitled[rest] = entitlement(minimum[rest], left, np.arange(len(rest)))
    return entitled


def _shares(use: Floats, floor: Floats, ceiling: Floats, weight: Floats) -> Floats:
    claims = Claims(use=use, floor=floor, ceiling=ceiling, weight=weight)
    return fair_shares(claims, np.ones(use.shape[1]))


def _order(runs: Sequence[AppRun]) -> Ints:
    """Return who is served first: higher tiers, then what runs, then older jobs."""
    priority = np.array([run.asked.priority for run in runs], dtype=np.int64)
    waits = np.array([not run.size for run in runs])
    return np.lexsort((waits, -priority))  # Stable, and runs are in order of submission.


def _amounts(amount: Resources) -> tuple[int, int, int]:
    return amount.cpu_milli, amount.memory_bytes, amount.gpu_count
