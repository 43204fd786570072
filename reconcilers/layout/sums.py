"""What containers use of each node, added up in plain whole numbers.

`Resources` makes a new object of each sum, which is most of the time that a check of some hundred
applications takes.
"""

from collections.abc import Iterable, Mapping

from events.units import Resources

Counts = Mapping[str, int]
"""Containers by node id."""

Part = tuple[Resources, Counts]
"""Containers of one demand, and where they stand."""


def used_on(parts: Iterable[Part]) -> dict[str, list[int]]:
    """Return what is used of each node: cpu in milli, memory in bytes, GPUs."""
    used: dict[str, list[int]] = {}
    for demand, nodes in parts:
        cpu_milli, memory_bytes = demand.cpu_milli, demand.memory_bytes
        gpu_count = demand.gpu_count
        for node_id, count in nodes.items():
            sums = used.get(node_id)
            if sums is None:
                used[node_id] = [cpu_milli * count, memory_bytes * count, gpu_count * count]
            else:
                sums[0] += cpu_milli * count
                sums[1] += memory_bytes * count
                sums[2] += gpu_count * count
    return used


def total(amounts: Iterable[tuple[Resources, int]]) -> Resources:
    """Return the sum of so many times each amount."""
    cpu_milli = memory_bytes = gpu_count = 0
    for amount, count in amounts:
        cpu_milli += amount.cpu_milli * count
        memory_bytes += amount.memory_bytes * count
        gpu_count += amount.gpu_count * count
    return Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes, gpu_count=gpu_count)


def as_resources(sums: Iterable[int]) -> Resources:
    """Return one node's sums as an amount."""
    cpu_milli, memory_bytes, gpu_count = sums
    return Resources(cpu_milli=cpu_milli, memory_bytes=memory_bytes, gpu_count=gpu_count)
