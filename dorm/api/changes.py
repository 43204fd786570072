"""What a user may change of an application that is not finished."""

import attrs

from dorm.spec.parse import CONTAINERS_MAX, WEIGHT_MAX
from events.apps import PRIORITY_MAX, PRIORITY_MIN, AppChanged, Scale
from events.errors import Rejected
from events.state import App
from events.text import brief


@attrs.frozen(kw_only=True)
class Change:
    """New bounds, a new weight or a new priority; None leaves the old value."""

    weight: float | None = None
    min: int | None = None
    max: int | None = None
    priority: int | None = None


def app_changed(app: App, change: Change) -> AppChanged:
    """Return the event that sets what the user gave.

    Raises:
        Rejected: It is not possible.
    """
    return AppChanged(
        app_id=app.app_id,
        weight=_new_weight(change),
        scale=_new_scale(app.spec.scale, change),
        priority=_new_priority(change),
    )


def _new_weight(change: Change) -> float | None:
    if change.weight is None:
        return None
    if not 0 < change.weight <= WEIGHT_MAX:
        rule = f"must be above 0 and at most {WEIGHT_MAX:.0f}"
        raise Rejected(rule, field="weight", value=brief(str(change.weight)), hint="1 is usual")
    return float(change.weight)


def _new_priority(change: Change) -> int | None:
    value = change.priority
    if value is not None and not PRIORITY_MIN <= value <= PRIORITY_MAX:
        rule = f"must be from {PRIORITY_MIN} to {PRIORITY_MAX}"
        raise Rejected(rule, field="priority", value=brief(str(value)), hint="0 is usual")
    return value


def _new_scale(old: Scale, change: Change) -> Scale | None:
    if change.min is None and change.max is None:
        return None
    low = old.min if change.min is None else change.min
    high = old.max if change.max is None else change.max
    if not 1 <= low <= CONTAINERS_MAX:
        rule = f"must be from 1 to {CONTAINERS_MAX}"
        raise Rejected(rule, field="min", value=brief(str(low)), hint="cancel it to end it")
    if not low <= high <= CONTAINERS_MAX:
        rule = f"must be from min, which is {low}, to {CONTAINERS_MAX}"
        raise Rejected(rule, field="max", value=brief(str(high)), hint="set min and max together")
    return Scale(min=low, max=high)
