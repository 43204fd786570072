"""The decision who gets what, and where."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from attrs.validators import ge

CHANGES_PER_PART_MAX: Final = 200  # about 100 KB of JSON: far below etcd's 1.5 MiB a request
PRICES_MAX: Final = 100  # a cluster of machines that are all different has thousands


@attrs.frozen(kw_only=True)
class Slots:
    """An application's share of one node: `count` containers, and the devices of all of them."""

    count: int = attrs.field(validator=ge(1))
    devices: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        """Refuse devices that cannot be dealt out equally."""
        if len(self.devices) % self.count:
            msg = f"{len(self.devices)} devices cannot be dealt to {self.count} containers"
            raise ValueError(msg)


Partition = Mapping[str, Slots]
"""The containers of one application, by node id; empty when it runs nothing."""


def size(partition: Partition) -> int:
    """Return how many containers a partition has."""
    return sum(slots.count for slots in partition.values())


@attrs.frozen(kw_only=True)
class PartitionChange:
    """A new partition for one application, and why.

    Attributes:
        generation: The number that the containers of this partition will carry.
        reason: A sentence for people.
    """

    generation: int = attrs.field(validator=ge(1))
    partition: Partition
    reason: str = ""


def _finite(_instance: object, field: "attrs.Attribute[Any]", value: float) -> None:
    """Validate a figure. JSON has no infinity: one could be written, but never read again."""
    if not math.isfinite(value):
        msg = f"{field.name} is {value}, which cannot be recorded"
        raise ValueError(msg)


def _finite_prices(
    _instance: object, field: "attrs.Attribute[Any]", value: Mapping[str, float]
) -> None:
    for key, price in value.items():
        if not math.isfinite(price):
            msg = f"{field.name}: that of {key} is {price}, which cannot be recorded"
            raise ValueError(msg)


def dearest(prices: Mapping[str, float]) -> dict[str, float]:
    """Return the `PRICES_MAX` highest prices, by name: what a decision has room to record."""
    ranked = sorted(prices.items(), key=lambda row: (-row[1], row[0]))
    return dict(sorted(ranked[:PRICES_MAX]))


@attrs.frozen(kw_only=True)
class LayoutQuality:
    """How good a layout is, and how it came about. Why an app got what it got, its change says.

    Attributes:
        objective: What the layout is worth under its policy.
        bound: No layout that follows the rules is worth more.
        gap: `(bound - objective) / abs(bound)`; 0 when nothing better exists.
        loss: Sum over applications of the distance between dominant share and fair share.
        loss_bound: What the rules allow that to be.
        touched: Running applications whose places change, by id.
        touches_max: How many the rules allowed, beside those that had to be.
        released: Running applications that lose everything.
        prices: What a whole class of nodes full of one resource is worth, by `class/resource`;
            see `dearest`.
        input_hash: sha256 of the snapshot that was decided from, in canonical form.
        version: Of the algorithm and its solver: equal versions decide equally.
        fallback: Why another policy than the configured one decided; empty normally.
    """

    objective: float = attrs.field(default=0.0, validator=_finite)
    bound: float = attrs.field(default=0.0, validator=_finite)
    gap: float = attrs.field(default=0.0, validator=_finite)
    loss: float = attrs.field(default=0.0, validator=_finite)
    loss_bound: float = attrs.field(default=0.0, validator=_finite)
    touched: tuple[str, ...] = ()
    touches_max: int = attrs.field(default=0, validator=ge(0))
    released: tuple[str, ...] = ()
    prices: Mapping[str, float] = attrs.field(factory=dict, validator=_finite_prices)
    input_hash: str = ""
    version: str = ""
    fallback: str = ""


@attrs.frozen(kw_only=True)
class LayoutDecided:
    """The partitions that change; every other one stays as it is.

    A decision too large for one transaction is written in `parts` under one `decision_id`;
    it takes effect when the last part is there.

    Attributes:
        input_revision: The state that the decision was taken from, so that an auditor can take
            it again.
        policy: Name and version of the rule that decided, such as `drf/1`.
        part: Counts from 1 to `parts`.
        problem_hash: What was asked for when this was decided, the same in every part: while a
            state poses that problem, there is nothing to decide. Empty when nobody kept it.
        quality: Of the whole decision, in its first part only.
    """

    decision_id: str
    input_revision: int
    policy: str
    part: int = attrs.field(default=1, validator=ge(1))
    parts: int = attrs.field(default=1, validator=ge(1))
    changes: Mapping[str, PartitionChange]
    problem_hash: str = ""
    quality: LayoutQuality | None = None


def join(parts: Iterable[LayoutDecided]) -> dict[str, PartitionChange]:
    """Return the changes of all parts of one decision."""
    return {app_id: change for part in parts for app_id, change in part.changes.items()}
