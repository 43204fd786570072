"""How full a cluster could be at most: what no policy can better, given who has arrived.

With T the window, `x_ik` container-seconds of application i in the stretch k between two arrivals
(`l_k` seconds long, up to T), `d_i` its demand, C the cluster in one pool:

    max  1/T sum_ik (sum_r d_ir / C_r) x_ik
    s.t. sum_i d_ir x_ik <= C_r l_k               every stretch k and resource r
         0 <= x_ik <= max_i l_k                   0 before the arrival of i
         sum_k x_ik <= work_i max_i / v_i(max_i)  every i

The last row is the work: a concave speed v gives `v(n) >= n v(max) / max`, so an application that
had more container-seconds than that would have ended. Without this row the bound is that of
applications that never end. Containers are fractions, nodes are one, restarts are free: a bound.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import highspy

from dorm.simulate.job import SECOND_MS, Job
from events.units import Resources

FIVE_HOURS_S = 18_000.0


def highest_utilization(
    jobs: Sequence[Job],
    total: Resources,
    *,
    until_s: float = FIVE_HOURS_S,
    is_endless: bool = False,
) -> float:
    """Return an upper bound on the mean utilization up to `until_s`, of any policy.

    Args:
        jobs: All of the workload; those that arrive later count for nothing.
        total: Of the cluster.
        until_s: Length of the window, which begins at 0.
        is_endless: Whether applications are taken to have more work than they can do until then.
    """
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", "false")
    pool = _amounts(total)
    early = [job for job in jobs if _arrival_s(job) < until_s]
    borders = sorted({0.0, until_s, *map(_arrival_s, early)})
    had: dict[str, list[Any]] = {job.app_id: [] for job in early}
    objective = []
    for start_s, end_s in pairwise(borders):
        length_s, terms = end_s - start_s, []
        for job in early:
            if _arrival_s(job) <= start_s:
                seconds = solver.addVariable(0.0, job.max * length_s)
                had[job.app_id].append(seconds)
                terms.append((job, seconds))
        objective += [_unit(job, pool) / until_s * seconds for job, seconds in terms]
        for index, capacity in enumerate(pool):
            uses = [_amounts(job.demand)[index] * seconds for job, seconds in terms]
            if uses and capacity:
                solver.addConstr(sum(uses) <= capacity * length_s)
    for job in [] if is_endless else early:
        solver.addConstr(sum(had[job.app_id]) <= job.work * job.max / job.curve.speed(job.max))
    solver.maximize(sum(objective))
    return solver.getObjectiveValue()


def _arrival_s(job: Job) -> float:
    return job.submitted_ms / SECOND_MS


def _amounts(amount: Resources) -> tuple[float, float, float]:
    """Return cpus, GiB and GPUs: numbers of like size suit a linear program."""
    return amount.cpu_milli / 1000, amount.memory_bytes / (1 << 30), float(amount.gpu_count)


def _unit(job: Job, pool: Sequence[float]) -> float:
    parts = zip(_amounts(job.demand), pool, strict=True)
    return math.fsum(need / capacity for need, capacity in parts if capacity)
