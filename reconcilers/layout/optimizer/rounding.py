"""From fractions of nodes to whole nodes.

A vertex of the pattern program has at most as many fractional patterns as it has rows, so that
nearly all nodes are settled by rounding down. Then come the largest fractions, where the pattern
is still wanted. The few nodes left are filled greedily, at the program's prices, with what is
missing, or are left to another round of the program.
"""

from typing import Final

import attrs
import numpy as np

from reconcilers.layout.optimizer.groups import Groups
from reconcilers.layout.optimizer.knapsack import FEW_WEIGHTS, WEIGHTS, Trials
from reconcilers.layout.optimizer.model import Floats, Ints
from reconcilers.layout.optimizer.patterns import Solution

FRACTION_MIN: Final = 0.3  # smaller parts of a node are not rounded up
LEFT_OVER_MAX: Final = 200  # groups tried at once for what is missing
FEW_GROUPS: Final = 8  # so few are tried with more weights
TURNS_MAX: Final = 50
TIE: Final = 1e-6  # part of the highest price at which what is free of charge is told apart
TOLERANCE: Final = 1e-6


@attrs.frozen(kw_only=True, eq=False)
class Slots:
    """Places for containers, by shape: parallel arrays, ordered by shape, then in rack order.

    Attributes:
        shape, node, count: Shape, node, and how many of its containers fit there.
    """

    shape: Ints
    node: Ints
    count: Ints


@attrs.define(kw_only=True, eq=False)
class _Plan:
    """What has been settled: patterns with the number of nodes of their group that get them."""

    wanted: Ints
    left: Ints
    group: list[int] = attrs.field(factory=list)
    pattern: list[Ints] = attrs.field(factory=list)
    nodes: list[int] = attrs.field(factory=list)

    def take(self, group: int, pattern: Ints, nodes: int) -> None:
        self.group.append(group)
        self.pattern.append(pattern)
        self.nodes.append(nodes)
        self.left[group] -= nodes
        self.wanted = np.maximum(self.wanted - pattern * nodes, 0)

    def times(self, group: int, pattern: Ints) -> int:
        """Return on how many nodes the pattern is wanted in full."""
        some = pattern > 0
        if not some.any():
            return 0
        return min(int(self.left[group]), int((self.wanted[some] // pattern[some]).min()))


def whole_nodes(
    solution: Solution, groups: Groups, most: Ints, rank: Ints, *, every: bool
) -> Slots:
    """Return the slots of a rounded solution.

    Args:
        solution: What to round.
        groups: The nodes.
        most: (S,) containers of each shape that anybody wants.
        rank: (H,) position of each node in rack order.
        every: Whether to fill the nodes that rounding leaves, too.
    """
    total = np.zeros(len(most))
    for pattern, nodes in zip(solution.patterns, solution.nodes.tolist(), strict=True):
        if nodes > 0:
            total += pattern * nodes
    wanted = np.minimum(np.floor(total + 0.5 + TOLERANCE).astype(np.int64), most)
    plan = _Plan(wanted=wanted, left=groups.count.copy())
    _round_down(solution, plan)
    _round_up(solution, plan)
    if every:
        _fill_up(solution, groups, plan)
    return _slots(plan, groups, rank)


def _round_down(solution: Solution, plan: _Plan) -> None:
    whole = np.floor(solution.nodes + TOLERANCE).astype(np.int64)
    used = np.flatnonzero(whole > 0)
    for index in used[np.lexsort((used, -whole[used], solution.group_of[used]))].tolist():
        group = int(solution.group_of[index])
        nodes = min(int(whole[index]), int(plan.left[group]))
        if nodes > 0:
            plan.take(group, solution.patterns[index], nodes)


def _round_up(solution: Solution, plan: _Plan) -> None:
    fraction = solution.nodes - np.floor(solution.nodes + TOLERANCE)
    large = np.flatnonzero(fraction > FRACTION_MIN)
    for index in large[np.lexsort((large, -np.round(fraction[large], 6)))].tolist():
        group, pattern = int(solution.group_of[index]), solution.patterns[index]
        if plan.times(group, pattern) > 0:
            plan.take(group, pattern, 1)


def _fill_up(solution: Solution, groups: Groups, plan: _Plan) -> None:
    greedy = solution.greedy
    demand = greedy.demand / greedy.unit
    size = (demand[:, 0] + demand[:, 1]) + demand[:, 2]
    highest = float(solution.prices.shape.max(initial=0.0)) or 1.0
    price = solution.prices.shape + TIE * highest * size / float(size.max())
    for _ in range(TURNS_MAX):
        open_groups = np.flatnonzero(plan.left > 0)[:LEFT_OVER_MAX]
        if not len(open_groups) or not plan.wanted.any():
            break
        orders = len(WEIGHTS if len(open_groups) <= FEW_GROUPS else FEW_WEIGHTS)
        trials = Trials(
            room=np.repeat(groups.room[open_groups], orders, axis=0).astype(np.float64),
            order=np.tile(np.arange(orders), len(open_groups)),
            half=np.zeros(len(open_groups) * orders, dtype=bool),
        )
        value, patterns = greedy.fill(trials, price, plan.wanted)
        if not _take_best(plan, open_groups, value.reshape(len(open_groups), -1), patterns):
            break


def _take_best(plan: _Plan, open_groups: Ints, value: Floats, patterns: Ints) -> bool:
    best = value.argmax(axis=1)
    worth = value[np.arange(len(best)), best]
    taken = False
    for index in np.lexsort((np.arange(len(best)), -np.round(worth, 12))).tolist():
        pattern = patterns[index * value.shape[1] + int(best[index])]
        group = int(open_groups[index])
        times = plan.times(group, pattern)
        if times > 0:
            plan.take(group, pattern, times)
            taken = True
    return taken


def _slots(plan: _Plan, groups: Groups, rank: Ints) -> Slots:
    if not plan.group:
        empty = np.zeros(0, dtype=np.int64)
        return Slots(shape=empty, node=empty, count=empty)
    next_node = groups.start.copy()
    nodes, blocks = [], []
    for index, (group, count) in enumerate(zip(plan.group, plan.nodes, strict=True)):
        begin = int(next_node[group])
        nodes.append(groups.nodes[begin : begin + count])
        blocks.append(np.full(count, index))
        next_node[group] = begin + count
    node, block = np.concatenate(nodes), np.concatenate(blocks)
    patterns = np.array(plan.pattern)
    which, shape = np.nonzero(patterns[block])
    node, count = node[which], patterns[block[which], shape]
    order = np.lexsort((rank[node], shape))
    return Slots(shape=shape[order], node=node[order], count=count[order])
