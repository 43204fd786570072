"""Arithmetic on what a container asks for and a node has."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Self

import attrs


@attrs.frozen(kw_only=True)
class Resources:
    """An amount of each resource that Dorm schedules.

    Differences may be negative while a sum is being worked out; demands and capacities are not,
    which the events that carry them check.
    """

    cpu_milli: int = 0
    memory_bytes: int = 0
    gpu_count: int = 0

    def __add__(self, other: Self) -> Self:
        """Return the sum, resource by resource."""
        return type(self)(
            cpu_milli=self.cpu_milli + other.cpu_milli,
            memory_bytes=self.memory_bytes + other.memory_bytes,
            gpu_count=self.gpu_count + other.gpu_count,
        )

    def __sub__(self, other: Self) -> Self:
        """Return the difference, resource by resource."""
        return self + other * -1

    def __mul__(self, count: int) -> Self:
        """Return `count` times the amount."""
        return type(self)(
            cpu_milli=self.cpu_milli * count,
            memory_bytes=self.memory_bytes * count,
            gpu_count=self.gpu_count * count,
        )

    def fits_in(self, room: Self) -> bool:
        """Return whether `room` has at least this much of every resource asked for.

        A resource that is not asked for is not compared, so a node that is short of memory
        still takes a container that needs none.
        """
        return (
            (self.cpu_milli <= 0 or self.cpu_milli <= room.cpu_milli)
            and (self.memory_bytes <= 0 or self.memory_bytes <= room.memory_bytes)
            and (self.gpu_count <= 0 or self.gpu_count <= room.gpu_count)
        )

    def times_in(self, room: Self) -> int:
        """Return how many such amounts fit into `room`; 0 for an empty demand."""
        pairs = (
            (self.cpu_milli, room.cpu_milli),
            (self.memory_bytes, room.memory_bytes),
            (self.gpu_count, room.gpu_count),
        )
        return max(0, min((have // need for need, have in pairs if need > 0), default=0))

    def dominant_share(self, total: Self) -> Fraction:
        """Return the largest fraction of `total` that this is of any one resource, exactly.

        Source: Ghodsi et al., "Dominant Resource Fairness", NSDI 2011, section 4.
        """
        return max(
            Fraction(self.cpu_milli, total.cpu_milli) if total.cpu_milli > 0 else Fraction(0),
            Fraction(self.memory_bytes, total.memory_bytes)
            if total.memory_bytes > 0
            else Fraction(0),
            Fraction(self.gpu_count, total.gpu_count) if total.gpu_count > 0 else Fraction(0),
        )


def total_of(amounts: Iterable[Resources]) -> Resources:
    """Return the sum of all amounts."""
    return sum(amounts, start=Resources())


def at_least_one_demand(
    _instance: object, field: "attrs.Attribute[Resources]", value: Resources
) -> None:
    """Validate a demand: no resource below zero, and some resource above it."""
    amounts = attrs.asdict(value)
    below = [name for name, amount in amounts.items() if amount < 0]
    if below or not any(amounts.values()):
        what = f"has {', '.join(below)} below zero" if below else "asks for nothing"
        msg = f"{field.name} {what}"
        raise ValueError(msg)
