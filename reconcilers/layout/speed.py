"""How fast an application is at which size: promised in its spec, or learnt from its own runs.

The model of a training with a part `a` of its time that does not get shorter with more containers
(communication, the slowest worker):

    s(n) = s(1) n / (1 + a (n - 1)),        0 <= a <= 1

so `a = 0` is linear and `a = 1` gains nothing. It is Amdahl's law with `a` as the serial part.
Since `n / s(n) = b + c (n - 1)` with `b = 1 / s(1)` and `c = a / s(1)`, a straight line through the
measured times per step and container gives `a = c / b`.

Source: Amdahl, "Validity of the single processor approach to achieving large scale computing
capabilities", AFIPS 1967; least squares of a line.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from events.state import App, Progress
from reconcilers.layout.snapshot import SpeedPoint

SIZES_MIN: Final = 2  # a line needs two points
STEPS_OF_A: Final = 20  # `a` is rounded to twentieths, so that noise is no reason to decide anew


def curve(app: App) -> tuple[SpeedPoint, ...]:
    """Return the speed curve of an application; empty for one that is not known.

    What its user promised counts; else what was measured, once at two sizes or more.
    """
    if app.spec.speed:
        return tuple(
            SpeedPoint(containers=point.containers, speed=point.speed, nodes=point.nodes)
            for point in app.spec.speed
        )
    a = fit(app.speeds)
    if a is None:
        return ()
    sizes = _sizes(app.spec.scale.max)
    return tuple(SpeedPoint(containers=n, speed=n / (1 + a * (n - 1))) for n in sizes)


def fit(speeds: Mapping[int, Progress]) -> float | None:
    """Return `a` by least squares, rounded; None while fewer than two sizes were measured."""
    seen = {
        size: Fraction(size * progress.ms, progress.steps)
        for size, progress in sorted(speeds.items())
        if progress.steps > 0 and progress.ms > 0
    }
    if len(seen) < SIZES_MIN:
        return None
    x_mean = Fraction(sum(seen)) / len(seen)
    y_mean = sum(seen.values(), Fraction(0)) / len(seen)
    covariance = sum(((x - x_mean) * (y - y_mean) for x, y in seen.items()), Fraction(0))
    slope = covariance / sum(((x - x_mean) ** 2 for x in seen), Fraction(0))
    at_one = y_mean - slope * (x_mean - 1)
    if at_one <= 0:
        return 1.0  # The line is steeper than any of the model: more containers do not help.
    a = min(max(slope / at_one, Fraction(0)), Fraction(1))
    return math.floor(a * STEPS_OF_A + Fraction(1, 2)) / STEPS_OF_A


def _sizes(most: int) -> Iterable[int]:
    """Return 1, 2, 4 and so on, up to and with `most`."""
    return [*(1 << power for power in range((most - 1).bit_length())), most]
