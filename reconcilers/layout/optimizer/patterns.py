"""Column generation: the pattern program with the patterns that it needs, and a bound on it.

There are far too many patterns to list, so they are found as they pay off. Each round solves the
program with the patterns so far. A pattern of group g improves on it if at the resulting prices
`sum_k price_k * a_k` is more than the price of a node of g; finding one is a knapsack. The greedy
one finds most of them; the exact one is asked only about groups where it finds nothing, and only
when a proof is wanted (hybrid pricing).

At any prices >= 0 (of loss: up to EXCESS_PRICE) the Lagrangian is an upper bound on the request:

    base gain + price_loss * room for loss
    + sum_j length_j * max(0, gain_j - price_loss * loss_j - price of its containers)
    + sum_g nodes_g * (best knapsack of g at these prices)

It is taken over the true segments, not over the merged columns, and does not depend on
how exactly the linear program was solved.

Sources: Gilmore and Gomory, 1961 and 1963 ("... part II"), for the delayed generation of patterns;
Lasdon, "Optimization theory for large systems", 1970, for the bound.
"""

import math
from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.groups import Groups
from reconcilers.layout.optimizer.knapsack import (
    FEW_WEIGHTS,
    ORDERS,
    Greedy,
    Trials,
    best_pattern,
)
from reconcilers.layout.optimizer.model import Bools, Floats, Ints
from reconcilers.layout.optimizer.program import Prices, Program
from reconcilers.layout.optimizer.segments import Segments, merge
from reconcilers.layout.optimizer.shapes import Shapes

LARGE_GROUPS: Final = 12  # so many groups are tried in many orders, the others in few
TRIALS: Final = 1200  # of all large groups together
PER_GROUP: Final = 4  # patterns of a group that are added in one round; three times for large ones
PER_ROUND: Final = 400  # patterns that are added in one round
CLOSE: Final = 4e-4  # generation ends when so little of the value is missing
EXACT_WORK_MAX: Final = 3_000  # shapes of all exact knapsacks together: each takes milliseconds
CLEAR: Final = 2e-3  # an improvement of a group's price that makes the exact knapsack needless


@attrs.frozen(kw_only=True, eq=False)
class Solution:
    """A solved pattern program.

    Attributes:
        group_of: (N,) group of each pattern.
        patterns: (N, S) containers by shape.
        nodes: (N,) how many nodes are filled by each; fractions.
        prices: At the optimum.
        greedy: What made the patterns, for the few nodes that rounding leaves.
        bound: Proven upper bound of the request; infinite unless it was certified.
        value: Of the program.
        rounds: Of column generation.
    """

    group_of: Ints
    patterns: Ints
    nodes: Floats
    prices: Prices
    greedy: Greedy
    bound: float
    value: float
    rounds: int


@attrs.frozen(kw_only=True, eq=False)
class Task:
    """What patterns are generated for.

    Attributes:
        room_for_loss: What the fairness bound leaves when no segment is taken.
        certify, rounds_max: As requested.
    """

    shapes: Shapes
    segments: Segments
    groups: Groups
    room_for_loss: float
    certify: bool
    rounds_max: int


def generate(task: Task) -> Solution | None:
    """Return the solved pattern program, or None if it cannot be solved."""
    columns = merge(task.segments, len(task.shapes.demand))
    base = task.segments.base_gain + columns.fixed_gain
    program = Program(columns, task.groups, task.room_for_loss - columns.fixed_loss)
    pricing = _Pricing.of(task)
    opening = Prices(
        shape=_opening_prices(task.segments, len(task.shapes.demand)),
        group=np.zeros(len(task.groups.count)),
        loss=0.0,
    )
    best = pricing.improve(program, opening, work_max=0)
    bound, rounds, work = math.inf, 0, 0
    certify = task.certify
    solved: Prices | None = None
    while (now := program.solve()) is not None:
        solved, rounds = now, rounds + 1
        value = base + program.value
        if not best.added or rounds > task.rounds_max:
            break
        best = pricing.improve(program, solved, work_max=EXACT_WORK_MAX - work if certify else 0)
        work += best.work
        certify = certify and not best.is_refused
        if best.is_exact:
            bound = min(bound, lagrangian(task, solved, best.value))
        missing = bound - value if certify else pricing.missing(solved, best)
        if missing <= CLOSE * abs(value - task.segments.base_gain):
            break
    if solved is None:
        return None
    return Solution(
        group_of=np.array(program.group_of, dtype=np.int64),
        patterns=program.patterns,
        nodes=program.nodes(),
        prices=solved,
        greedy=pricing.greedy,
        bound=bound,
        value=base + program.value,
        rounds=rounds,
    )


def _opening_prices(segments: Segments, shapes: int) -> Floats:
    """Return the best value of a container of each shape, before anything is known of prices."""
    prices = np.zeros(shapes)
    np.maximum.at(prices, segments.shape, np.maximum(segments.gain, 0.0))
    role = segments.gain[segments.role_segment]
    np.maximum.at(prices, segments.role_shape, np.maximum(role, 1e-9))
    return prices


def lagrangian(task: Task, prices: Prices, best: Floats) -> float:
    """Return the upper bound at some prices.

    Args:
        task: The request.
        prices: Of shapes and of loss.
        best: (G,) no pattern of a node of each group is worth more.
    """
    segments = task.segments
    gang = np.zeros(len(segments.app))
    np.add.at(gang, segments.role_segment, segments.role_count * prices.shape[segments.role_shape])
    each = segments.gain - prices.loss * segments.loss - prices.shape[segments.shape]
    worth = each * segments.length - gang
    worth = np.where(segments.must, worth, np.maximum(worth, 0.0))
    return math.fsum(
        [
            segments.base_gain,
            prices.loss * task.room_for_loss,
            *worth.tolist(),
            *(task.groups.count * best).tolist(),
        ]
    )


@attrs.frozen(kw_only=True, eq=False)
class _Best:
    """What pricing found.

    Attributes:
        value: (G,) the most a node of each group is worth.
        added: Patterns.
        is_exact: Whether the values are proven.
        is_refused: Whether they are not because that would have been too much work.
        work: What proving took: shapes of all exact knapsacks.
    """

    value: Floats
    added: int
    is_exact: bool = False
    is_refused: bool = False
    work: int = 0


@attrs.frozen(kw_only=True, eq=False)
class _Pricing:
    """Finds patterns that improve on a program: all trials of all groups, group after group."""

    task: Task
    greedy: Greedy
    trials: Trials
    group: Ints
    start: Ints
    large: Bools
    most: Ints

    @classmethod
    def of(cls, task: Task) -> "_Pricing":
        groups = task.groups
        unit = np.maximum((groups.room * groups.count[:, None]).sum(axis=0), 1).astype(np.float64)
        size = groups.count * (groups.room / unit).max(axis=1, initial=0.0)
        large = np.zeros(len(groups.count), dtype=bool)
        large[np.argsort(-np.round(size, 12), kind="stable")[:LARGE_GROUPS]] = True
        orders = min(ORDERS, TRIALS // (2 * max(int(large.sum()), 1)))
        count = np.where(large, 2 * orders, len(FEW_WEIGHTS))
        group = np.repeat(np.arange(len(count)), count)
        start = np.cumsum(count) - count
        nth = np.arange(len(group)) - start[group]
        return cls(
            task=task,
            greedy=Greedy(demand=task.shapes.demand, unit=unit / groups.count.sum()),
            trials=Trials(
                room=groups.room[group].astype(np.float64),
                order=nth % orders,
                half=nth >= orders,
            ),
            group=group,
            start=start,
            large=large,
            most=task.segments.most(len(task.shapes.demand)),
        )

    def improve(self, program: Program, prices: Prices, *, work_max: int) -> _Best:
        """Add patterns that are worth more than the nodes they need.

        Where the greedy ones hardly are, exact knapsacks say what the most is, as long as there are
        no more than `work_max` shapes in them.
        """
        value, patterns = self.greedy.fill(self.trials, prices.shape, self.most)
        best = np.maximum.reduceat(value, self.start)
        chosen = self._choose(value, prices)
        added = program.add(self.group[chosen], patterns[chosen])
        clear = best > prices.group + np.maximum(CLEAR * prices.group, 1e-12)
        unclear = np.flatnonzero(~clear)
        work = len(unclear) * len(prices.shape)
        if work > work_max or work_max == 0:
            return _Best(value=best, added=added, is_refused=work_max > 0)
        found = []
        for group in unclear.tolist():
            most, pattern = best_pattern(
                prices.shape, self.task.shapes.demand, self.task.groups.room[group], self.most
            )
            best[group] = max(most, float(best[group]))
            found.append(pattern)
        if found:
            added += program.add(unclear, np.array(found))
        return _Best(value=best, added=added, is_exact=not clear.any(), work=work)

    def missing(self, prices: Prices, best: _Best) -> float:
        """Return what more patterns could add, judged by the ones that pricing found."""
        better = np.maximum(best.value - prices.group, 0.0)
        return math.fsum((self.task.groups.count * better).tolist())

    def _choose(self, value: Floats, prices: Prices) -> Ints:
        """Return the trials whose patterns improve most: a few of each group."""
        surplus = value - prices.group[self.group]
        better = np.flatnonzero(surplus > 1e-6 * np.maximum(prices.group[self.group], 1e-300))
        better = better[np.lexsort((-np.round(surplus[better], 12), self.group[better]))]
        group = self.group[better]
        rank = np.arange(len(group)) - np.searchsorted(group, group)
        keep = rank < np.where(self.large[group], 3 * PER_GROUP, PER_GROUP)
        better, rank = better[keep], rank[keep]
        if len(better) > PER_ROUND:
            total = surplus[better] * self.task.groups.count[self.group[better]]
            better = better[np.lexsort((-np.round(total, 12), rank))[:PER_ROUND]]
        return better
