"""By which rules layouts are decided, and when time alone is a reason to decide again."""

import math
from typing import Any, Final

import attrs
from attrs.validators import ge, gt, in_

RESTART_MS: Final = 30_000  # of an application whose restarts were not measured yet
RESTARTS_PER_REST: Final = (
    20  # 5 % of its time for restarts, the paper's overhead, unless cut short
)

POLICIES: Final = ("goodput", "utilization", "drf", "static", "two-level")


def _a_factor(_instance: object, field: "attrs.Attribute[Any]", value: float) -> None:
    """Validate a factor or a price. JSON has no infinity: it could be written, never read."""
    if not 0 <= value < math.inf:
        msg = f"{field.name} is {value}: give a number of 0 or more"
        raise ValueError(msg)


@attrs.frozen(kw_only=True)
class LayoutRules:
    """The rules of one cluster that its operators may set.

    Attributes:
        policy: `goodput` values what containers achieve, `utilization` what they occupy (the
            paper's objective), `drf` only fairness; `static` and `two-level` are for comparison.
        loss_factor: The paper's theta 1: the fairness loss may be this times 2 x resources.
        touch_factor: The paper's theta 2: the part of the running applications that one decision
            may disturb. A ceiling: fewer are disturbed wherever that is as good.
        shortfall_price: What one unit of dominant share below the fair share costs (`goodput`).
        horizon_ms: Over how long a restart has to pay for itself.
        min_run_ms: How long an application is left alone after it was disturbed, at most; see
            `rest_ms`.
        gang_wait_ms: How long an application whose share is due may wait before the touch budget
            is lifted for it.
        static_containers: Partition size of the `static` policy, where it lies within the bounds.
    """

    policy: str = attrs.field(default="goodput", validator=in_(POLICIES))
    loss_factor: float = attrs.field(default=0.2, validator=_a_factor)
    touch_factor: float = attrs.field(default=0.1, validator=_a_factor)
    shortfall_price: float = attrs.field(default=1.0, validator=_a_factor)
    horizon_ms: int = attrs.field(default=1_800_000, validator=gt(0))
    min_run_ms: int = attrs.field(default=600_000, validator=ge(0))
    gang_wait_ms: int = attrs.field(default=600_000, validator=ge(0))
    static_containers: int = attrs.field(default=8, validator=ge(1))

    def rest_ms(self, restart_ms: int) -> int:
        """Return how long an application is left alone after it was disturbed.

        Args:
            restart_ms: What a restart costs it; 0 while that is not known.
        """
        return min(self.min_run_ms, RESTARTS_PER_REST * (restart_ms or RESTART_MS))


@attrs.frozen(kw_only=True)
class LayoutConfigured:
    """An operator set the rules of the cluster. These are all of them, not only the new ones."""

    rules: LayoutRules


@attrs.frozen(kw_only=True)
class LayoutDue:
    """The leader says that time has passed, so the layout is to be looked at again.

    Attributes:
        waited_ms: Since the last decision or the last such event, by the leader's own clock.
    """

    waited_ms: int = attrs.field(validator=ge(0))
