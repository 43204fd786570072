"""What an operator may ask of the rules of layouts, and how they are shown."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from dorm.api.answers import Policy
from dorm.api.numbers import as_whole
from dorm.spec.parse import CONTAINERS_MAX
from dorm.spec.units import DURATION_MS_MAX
from events.codec import to_plain
from events.errors import Rejected
from events.policy import POLICIES, LayoutRules
from events.state import ClusterState
from events.text import brief

PRICE_MAX: Final = 1_000_000

Bounds = tuple[float, float]

FACTORS: Final[Mapping[str, Bounds]] = {
    "loss_factor": (0, 1),
    "touch_factor": (0, 1),
    "shortfall_price": (0, PRICE_MAX),
}
COUNTS: Final[Mapping[str, Bounds]] = {
    "horizon_ms": (1, DURATION_MS_MAX),
    "min_run_ms": (0, DURATION_MS_MAX),
    "gang_wait_ms": (0, DURATION_MS_MAX),
    "static_containers": (1, CONTAINERS_MAX),
}
_FIELDS: Final = ("policy", *FACTORS, *COUNTS)


def page(state: ClusterState) -> Policy:
    """Return the rules in force, and how good the newest decision is."""
    last = state.last_decision
    return {
        "rules": to_plain(state.rules),
        "last_decision": to_plain(last) if last else None,
        "quarantined": [app.app_id for app in state.apps.values() if app.quarantine],
        "revision": state.revision,
    }


def new_rules(old: LayoutRules, wanted: object) -> LayoutRules:
    """Return the rules with some of them replaced.

    Raises:
        Rejected: `wanted` is no object of rules, or one of them is not possible.
    """
    if not isinstance(wanted, dict) or not wanted or wanted.keys() - set(_FIELDS):
        raise Rejected(
            f"must name some of {', '.join(_FIELDS)} and nothing else",
            field="body",
            hint='send a JSON object such as {"policy": "goodput", "loss_factor": 0.2}',
        )
    usual = LayoutRules()
    return attrs.evolve(
        old, **{name: _checked(name, value, getattr(usual, name)) for name, value in wanted.items()}
    )


def _checked(name: str, value: object, usual: object) -> Any:  # noqa: ANN401 - text or a number
    if name == "policy":
        if value not in POLICIES:
            rule = f"must be one of {', '.join(POLICIES)}"
            raise _refused(name, value, rule, f"the usual one is {usual}")
        return value
    is_count = name in COUNTS
    low, high = COUNTS[name] if is_count else FACTORS[name]
    kind = int if is_count else int | float
    value = as_whole(value) if is_count else value
    is_number = isinstance(value, kind) and not isinstance(value, bool)
    # A comparison with NaN is false, so that is refused too.
    if not is_number or not low <= value <= high:  # type: ignore[operator]  # it is a number
        what = "a whole number" if is_count else "a number"
        raise _refused(name, value, f"must be {what} from {low} to {high}", f"{usual} is usual")
    return value if is_count else float(value)  # type: ignore[arg-type]  # it is a number


def _refused(name: str, value: object, rule: str, hint: str) -> Rejected:
    return Rejected(rule, field=name, value=brief(str(value)), hint=hint)
