"""Amounts of resources in words, from whole numbers only."""

from typing import Final

from events.units import Resources

ONE_CPU: Final = 1000  # in milli
GIB: Final = 1 << 30
MIB: Final = 1 << 20


def cpus(milli: int) -> str:
    """Return an amount of cpu as people write it: `4` or `2.5`."""
    whole, rest = divmod(milli, ONE_CPU)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def memory(amount_bytes: int) -> str:
    """Return an amount of memory in the largest unit that is whole: GiB, MiB or bytes."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if amount_bytes % unit == 0 and amount_bytes:
            return f"{amount_bytes // unit} {name}"
    return f"{amount_bytes} bytes" if amount_bytes < MIB else f"{amount_bytes // MIB} MiB"


def dominant(amount: Resources, total: Resources) -> str:
    """Return the resource of which `amount` is the largest part of `total`, as `4 of 12 cpus`."""
    choices = {
        f"{cpus(amount.cpu_milli)} of {cpus(total.cpu_milli)} cpus": Resources(
            cpu_milli=amount.cpu_milli
        ),
        f"{memory(amount.memory_bytes)} of {memory(total.memory_bytes)} memory": Resources(
            memory_bytes=amount.memory_bytes
        ),
        f"{amount.gpu_count} of {total.gpu_count} GPUs": Resources(gpu_count=amount.gpu_count),
    }
    return max(choices, key=lambda words: choices[words].dominant_share(total))


def containers(count: int) -> str:
    """Return a number of containers: `1 container`, `4 containers`."""
    return f"{count} container" if count == 1 else f"{count} containers"
