"""Taking back what is beyond the fairness bound.

The program keeps the bound exactly, in fractions; rounding may overshoot it a little. A unit of
excess costs more than any container is worth, so that containers above their application's fair
share are taken back, those that are worth least for the loss that they cause first.
"""

import math

import numpy as np

from reconcilers.layout.optimizer.model import EXCESS_PRICE, Floats, Ints, Model, Places
from reconcilers.layout.optimizer.request import FillRequest
from reconcilers.layout.optimizer.segments import Segments


def taken_of(segments: Segments, request: FillRequest, size: Ints) -> Ints:
    """Return (J,) how much of each segment sizes are made of.

    Args:
        segments: Of the request.
        request: Where the sizes began.
        size: (A,) containers, those kept included.
    """
    new = np.concatenate([[True], segments.app[1:] != segments.app[:-1]])[: len(segments.app)]
    begin = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    before = np.cumsum(segments.length) - segments.length
    grown = (size - request.kept)[segments.app]
    taken: Ints = np.clip(grown - (before - before[begin]), 0, segments.length)
    return taken


def worth_of(model: Model, segments: Segments, taken: Ints) -> tuple[float, float]:
    """Return what a request has become worth, and the loss of all applications together."""
    gain = math.fsum([segments.base_gain, *(segments.gain * taken).tolist()])
    loss = math.fsum([segments.base_loss, *(segments.loss * taken).tolist()])
    return gain - EXCESS_PRICE * max(0.0, loss - model.loss_max), loss


def trim(model: Model, request: FillRequest, segments: Segments, added: Places) -> Places:
    """Return the added containers without those that make the loss exceed its bound."""
    size = request.kept.copy()
    np.add.at(size, added.app, added.count)
    taken = taken_of(segments, request, size)
    _, loss = worth_of(model, segments, taken)
    if loss <= model.loss_max:
        return added
    back = np.zeros(model.apps, dtype=np.int64)
    np.add.at(back, segments.app, _excess(segments, taken, loss - model.loss_max))
    return _without(added, back)


def _excess(segments: Segments, taken: Ints, excess: float) -> Ints:
    """Return (J,) what to take back of each segment."""
    back = np.zeros(len(taken), dtype=np.int64)
    above = np.flatnonzero((segments.loss > 0) & (taken > 0) & ~segments.first)
    ratio: Floats = segments.gain[above] / segments.loss[above]
    order = above[np.lexsort((-above, np.rint(ratio * 1e9)))]
    for index in order.tolist():
        if excess <= 0:
            break
        each = float(segments.loss[index])
        back[index] = min(int(taken[index]), math.ceil(excess / each))
        excess -= each * int(back[index])
    return back


def _without(added: Places, back: Ints) -> Places:
    """Return places less so many containers of each application, off its smallest places first."""
    count = added.count.copy()
    rows = np.flatnonzero(back[added.app] > 0)
    left = back.copy()
    for row in rows[np.lexsort((-rows, added.count[rows]))].tolist():
        app = int(added.app[row])
        step = min(int(left[app]), int(count[row]))
        count[row] -= step
        left[app] -= step
    kept = count > 0
    return Places(app=added.app[kept], node=added.node[kept], count=count[kept])
