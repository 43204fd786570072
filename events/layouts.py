"""The decision who gets what, and where."""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs
from attrs.validators import ge

CHANGES_PER_PART_MAX: Final = 200  # about 100 KB of JSON: far below etcd's 1.5 MiB a request


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
    """

    decision_id: str
    input_revision: int
    policy: str
    part: int = attrs.field(default=1, validator=ge(1))
    parts: int = attrs.field(default=1, validator=ge(1))
    changes: Mapping[str, PartitionChange]


def join(parts: Iterable[LayoutDecided]) -> dict[str, PartitionChange]:
    """Return the changes of all parts of one decision."""
    return {app_id: change for part in parts for app_id, change in part.changes.items()}
