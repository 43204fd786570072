"""Who is due a place, and how much is fair: floor-aware weighted dominant-resource shares.

The fair share of an application is `s_i = clip(w_i * t, low_i * delta_i, high_i * delta_i)`: all
rise together with one water level `t`, each in proportion to its weight, but none below its minimum
(a gang has no use for less) or above its maximum. The level rises until a resource is full; the
applications that need that resource stop there, and the others go on. Plain dominant-resource
fairness gives a gang less than its minimum, which it cannot use, and so starves it for ever.

Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011 (progressive filling); the floors are
ours.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.model import RESOURCES, Bools, Floats, Ints

EPSILON: Final = 1e-12


@attrs.frozen(kw_only=True, eq=False)
class Claims:
    """What each application may claim of the cluster.

    Attributes:
        use: (A, R) fraction of each resource that one unit of dominant share is.
        floor, ceiling: (A,) least and most dominant share.
        weight: (A,).
    """

    use: Floats
    floor: Floats
    ceiling: Floats
    weight: Floats


def entitlement(minimum: Ints, room: Ints, order: Ints) -> Bools:
    """Return whose minimum fits beside the minimums of all that come before.

    Sums only: whether the nodes have the places is for the layout to find out. Whoever does not
    fit is passed over, and the next ones are asked.

    Args:
        minimum: (A, R) what the smallest size needs, fixed roles included.
        room: (R,) of all nodes together.
        order: Indices of those who may be entitled at all, the first served first.
    """
    entitled = np.zeros(len(minimum), dtype=bool)
    sums = np.cumsum(minimum[order], axis=0)
    first = int((sums <= room).all(axis=1).argmin()) if len(order) else 0
    fitting = first if len(order) and not (sums[first] <= room).all() else len(order)
    entitled[order[:fitting]] = True
    cpu, memory, gpu = (room - minimum[order[:fitting]].sum(axis=0)).tolist()
    rest = order[fitting:]
    for index, need in zip(rest.tolist(), minimum[rest].tolist(), strict=True):
        if need[0] <= cpu and need[1] <= memory and need[2] <= gpu:
            cpu, memory, gpu = cpu - need[0], memory - need[1], gpu - need[2]
            entitled[index] = True
    return entitled


def fair_shares(claims: Claims, left: Floats) -> Floats:
    """Return (A,) the fair dominant shares of those with a claim.

    Args:
        claims: A floor and a ceiling of 0 for whoever is not entitled.
        left: (R,) fraction of each resource that the floors and the rest are taken from.
    """
    shares = claims.floor.copy()
    rising = claims.ceiling > claims.floor
    for _ in RESOURCES:  # Each turn fills one resource at least.
        if not rising.any():
            break
        level, full = _level(claims, shares, left, rising)
        raised = np.clip(claims.weight * level, claims.floor, claims.ceiling)
        shares = np.where(rising, raised, shares)
        if full < 0:
            break
        rising = rising & (claims.use[:, full] <= EPSILON)
    return shares


def _level(claims: Claims, shares: Floats, left: Floats, rising: Bools) -> tuple[float, int]:
    """Return the level at which the first resource is full, and which; -1 when none ever is."""
    best, full = float(np.inf), -1
    still = np.where(rising, 0.0, shares)
    for resource in range(len(RESOURCES)):
        use = claims.use[:, resource]
        if not (use[rising] > EPSILON).any():
            continue
        room = float(left[resource]) - float(np.cumsum(use * still)[-1])
        level = _level_of_one(claims, use, rising & (use > EPSILON), room)
        if level < best:
            best, full = level, resource
    return best, full


def _level_of_one(claims: Claims, use: Floats, members: Bools, room: float) -> float:
    """Return the level at which `members` together use `room` of one resource.

    Their use is piecewise linear in the level: an application begins to rise at
    `floor / weight`, with slope `use * weight`, and stops at `ceiling / weight`.
    """
    weight, use = claims.weight[members], use[members]
    floor, ceiling = claims.floor[members], claims.ceiling[members]
    starts = np.concatenate([floor / weight, ceiling / weight])
    steps = np.concatenate([use * weight, -use * weight])
    order = np.argsort(starts, kind="stable")
    at, slope = starts[order], np.cumsum(steps[order])
    used = float(np.cumsum(use * floor)[-1])
    grown = used + np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(at))])
    over = np.flatnonzero(grown > room)
    if len(over) == 0:
        return float(np.inf)
    last = int(over[0]) - 1
    if last < 0:  # Not even the floors fit, which only rounding can bring about.
        return float(at[0])
    return float(at[last] + (room - grown[last]) / max(float(slope[last]), EPSILON))
