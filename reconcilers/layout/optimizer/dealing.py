"""From containers of a shape to containers of applications: who gets how many."""

from collections.abc import Iterable

import numpy as np

from reconcilers.layout.optimizer.model import Floats, Ints
from reconcilers.layout.optimizer.segments import Segments


def deal_sizes(segments: Segments, available: Ints, loss_price: float) -> Ints:
    """Return (J,) how many containers of each segment there are.

    Those that have to be come first, then the most valuable at the price of loss; of equal
    ones those of older applications. A gang that does not get all it needs, fixed roles included,
    leaves everything to those after it.

    Args:
        segments: What is asked for.
        available: (S,) containers of each shape that there are places for.
        loss_price: Of one unit of fairness loss.
    """
    worth = _falling(segments, segments.gain - loss_price * segments.loss)
    position = np.arange(len(worth))
    order = np.lexsort((position, -worth, ~segments.must))
    left = available.tolist()
    roles: dict[int, list[tuple[int, int]]] = {}
    columns = (segments.role_segment, segments.role_shape, segments.role_count)
    for segment, shape, count in zip(*(column.tolist() for column in columns), strict=True):
        roles.setdefault(segment, []).append((shape, count))
    shapes, lengths = segments.shape.tolist(), segments.length.tolist()
    firsts, apps = segments.first.tolist(), segments.app.tolist()
    acceptable = (segments.must | (worth > 0)).tolist()
    taken = [0] * len(lengths)
    refused: set[int] = set()
    for index in order.tolist():
        shape = shapes[index]
        if not acceptable[index] or apps[index] in refused:
            continue
        if not firsts[index]:
            taken[index] = min(lengths[index], left[shape])
            left[shape] -= taken[index]
            continue
        needs = [(shape, lengths[index]), *roles.get(index, ())]
        if _take_all(left, needs):
            taken[index] = lengths[index]
        else:
            refused.add(apps[index])
    return np.array(taken, dtype=np.int64)


def _falling(segments: Segments, worth: Floats) -> Floats:
    """Return rounded values that never rise from one segment of an application to the next.

    They do not rise in exact numbers; what rounding errors do is undone here.
    """
    unit = float(np.abs(worth).max(initial=0.0)) * 1e-9 or 1.0
    steps = np.rint(worth / unit)
    same = np.concatenate([[False], segments.app[1:] == segments.app[:-1]])
    for _ in range(len(steps)):  # As many turns as one application has segments out of order.
        higher = same & (steps > np.concatenate([[0.0], steps[:-1]]))
        if not higher.any():
            break
        steps = np.where(higher, np.concatenate([[0.0], steps[:-1]]), steps)
    return steps * unit


def _take_all(left: list[int], needs: Iterable[tuple[int, int]]) -> bool:
    """Take all of the needs out of `left`, or nothing."""
    total: dict[int, int] = {}
    for shape, count in needs:
        total[shape] = total.get(shape, 0) + count
    if any(count > left[shape] for shape, count in total.items()):
        return False
    for shape, count in total.items():
        left[shape] -= count
    return True
