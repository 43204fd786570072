"""What one simulated run is given beside its jobs and its cluster."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import attrs
from attrs.validators import ge, gt

from events.errors import Rejected
from reconcilers.layout.decide import FACTOR_MAX
from reconcilers.layout.snapshot import POLICIES, Options

Fidelity = Literal["layout", "facts"]
Speeds = Literal["given", "learnt", "none"]
RIGID: Final = frozenset({"static"})  # managers without elasticity: a job always has its request
ALIASES: Final = {
    "loss": "loss_factor",
    "touch": "touch_factor",
    "price": "shortfall_price",
    "min_run": "min_run_ms",
    "gang_wait": "gang_wait_ms",
    "horizon": "horizon_ms",
}


@attrs.frozen(kw_only=True)
class Delays:
    """How long things take that a simulation does not do.

    Attributes:
        restart_ms: From the stop for a resize to the next step, on average.
        spread: Restart times of applications are spread evenly by this part to both sides.
        round_ms: Two decisions are at least so far apart; changes wait for the next one.
        checkpoint_ms: How often an application saves its work by itself; a lost node costs the
            work since then.
        mtbf_ms: Mean time between failures of one node; 0 for no failures.
        repair_ms: How long a failed node is away.
    """

    restart_ms: int = attrs.field(default=60_000, validator=ge(0))
    spread: float = attrs.field(default=0.0, validator=ge(0))
    round_ms: int = attrs.field(default=10_000, validator=ge(0))
    checkpoint_ms: int = attrs.field(default=600_000, validator=gt(0))
    mtbf_ms: int = attrs.field(default=0, validator=ge(0))
    repair_ms: int = attrs.field(default=3_600_000, validator=gt(0))


@attrs.frozen(kw_only=True)
class RunSettings:
    """One policy, one seed.

    Attributes:
        label: What the user wrote, such as `goodput:loss=0.1`.
        speeds: What the policy knows of speed curves: `given` all, `learnt` the sizes that an
            application has had, `none` nothing.
    """

    label: str
    options: Options
    seed: int = 0
    fidelity: Fidelity = "layout"
    speeds: Speeds = "given"
    delays: Delays = Delays()

    @property
    def is_rigid(self) -> bool:
        """Return whether each job always runs at its reference size."""
        return self.options.policy in RIGID


def read_policy(text: str, base: Options) -> Options:
    """Return the options that `goodput` or `utilization:loss=0.1,touch=0.2` stands for.

    Raises:
        Rejected: There is no such policy or option.
    """
    name, _, rest = text.partition(":")
    if name not in POLICIES:
        raise Rejected(
            "is no policy", field="--policy", value=repr(name), hint=f"one of {', '.join(POLICIES)}"
        )
    changes: dict[str, Any] = {"policy": name}
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        changes |= _option(ALIASES.get(key, key), value, pair)
    for key, value in changes.items():
        if isinstance(value, float) and value > FACTOR_MAX:
            rule = f"has a {key} above {FACTOR_MAX:g}"
            raise Rejected(rule, field="--policy", value=text)
    try:
        return attrs.evolve(base, **changes)
    except (TypeError, ValueError) as error:
        raise Rejected(f"is refused: {error.args[0]}", field="--policy", value=text) from error


def _option(name: str, value: str, pair: str) -> Mapping[str, float | bool]:
    fields = {field.name: field for field in attrs.fields(Options) if field.name != "policy"}
    if name not in fields:
        hint = f"one of {', '.join(sorted((*ALIASES, *fields)))}"
        raise Rejected("is no option of a policy", field="--policy", value=repr(pair), hint=hint)
    kind = fields[name].type
    try:
        if kind is bool:
            return {name: {"true": True, "false": False}[value.lower()]}
        return {name: float(value) if kind is float else int(value)}
    except (ValueError, KeyError):
        wanted = {bool: "true or false", int: "a whole number"}.get(kind or float, "a number")
        rule = f"does not give {wanted}"
        raise Rejected(rule, field="--policy", value=repr(pair)) from None
