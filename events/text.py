"""Amounts and strings as people read them. Used by stories, errors and the command line."""

from typing import Final

from events.units import Resources

BRIEF_LENGTH: Final = 60

_MEMORY_UNITS: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_TIME_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def cpus(cpu_milli: int) -> str:
    """Return `0.5 cpus`, `1 cpu`, `12 cpus`."""
    number = f"{cpu_milli / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{number} {'cpu' if cpu_milli == 1000 else 'cpus'}"  # noqa: PLR2004 - one cpu


def memory(amount_bytes: int) -> str:
    """Return `512 MiB`, `1.5 GiB`, `100 B`: the largest unit of which there is one or more."""
    for unit_bytes, unit in _MEMORY_UNITS:
        if abs(amount_bytes) >= unit_bytes:
            number = f"{amount_bytes / unit_bytes:.2f}".rstrip("0").rstrip(".")
            return f"{number} {unit}"
    return f"{amount_bytes} B"


def plural(count: int, noun: str) -> str:
    """Return `1 container`, `2 containers`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def resources(amount: Resources) -> str:
    """Return `0.5 cpus, 512 MiB, 1 gpu`, without what there is none of."""
    parts = (
        cpus(amount.cpu_milli) if amount.cpu_milli else "",
        memory(amount.memory_bytes) if amount.memory_bytes else "",
        plural(amount.gpu_count, "gpu") if amount.gpu_count else "",
    )
    return ", ".join(part for part in parts if part) or "nothing"


def duration(amount_ms: int) -> str:
    """Return `250 ms`, `1.5 s`, `2 min`, `3.5 h`: in the largest unit that is not above it."""
    for unit_ms, unit in _TIME_UNITS:
        if abs(amount_ms) >= unit_ms:
            number = f"{amount_ms / unit_ms:.1f}".removesuffix(".0")
            return f"{number} {unit}"
    return f"{amount_ms} ms"


def one_line(text: str) -> str:
    """Return user's text with everything that could move a terminal's cursor made visible."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def brief(text: str) -> str:
    """Return user's text on one line, and cut where it is longer than a message needs it."""
    line = one_line(text)
    return line if len(line) <= BRIEF_LENGTH else f"{line[: BRIEF_LENGTH - 3]}..."
