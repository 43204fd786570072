"""What a trace says of one job, before it is made elastic."""

import attrs

from dorm.simulate.job import Curve
from events.units import Resources


@attrs.frozen(kw_only=True)
class Request:
    """One line of a trace.

    Attributes:
        submitted_s: Since the first submit of the trace, or since an epoch of the trace's own.
        containers: How many it asked for, and ran on for `duration_s`.
        demand: Of one container; None if the trace says only how many.
        min, max: Bounds, if the trace has them.
        curve: If the trace has one.
    """

    name: str
    kind: str = ""
    submitted_s: float
    duration_s: float
    containers: int
    demand: Resources | None = None
    min: int | None = None
    max: int | None = None
    weight: float = 1.0
    priority: int = 0
    curve: Curve | None = None


@attrs.frozen(kw_only=True)
class Trace:
    """What one reader found.

    Attributes:
        notes: What was left out or assumed, for the user.
    """

    name: str
    requests: tuple[Request, ...]
    notes: tuple[str, ...] = ()
