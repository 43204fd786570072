"""Amounts as people write them: `500m`, `512MiB`, `2m30s`; parsed exactly, and written back.

Every parser takes what the document holds there (text or a number) and the field's name.
"""

import re
from decimal import Decimal
from typing import Final

from dorm.spec.faults import shown
from events.errors import Rejected

CPU_MILLI_MAX: Final = 1_000_000
MEMORY_BYTES_MIN: Final = 6 << 20  # Docker refuses a smaller limit
MEMORY_BYTES_MAX: Final = 1 << 50
DURATION_MS_MAX: Final = 7 * 24 * 3_600_000

_AMOUNT: Final = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)", re.ASCII)
_DURATION: Final = re.compile(r"(?:\d{1,18}(?:\.\d{1,18})?(?:ms|s|m|h))+", re.ASCII)
_DURATION_PART: Final = re.compile(r"([\d.]+)(ms|s|m|h)", re.ASCII)
_BINARY: Final = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_DECIMAL: Final = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MEMORY_UNITS: Final = {**_BINARY, **_DECIMAL}
_DURATION_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_CPU_HINT: Final = "write 0.5 or 500m for half a core, 2 for two"
_MEMORY_HINT: Final = "write 512MiB or 2GiB"
_DURATION_HINT: Final = "write 500ms, 30s, 2m or 1h"


def parse_cpu(value: object, *, field: str) -> int:
    """Return thousandths of a core, from `0.5`, `2`, `"0.5"` or `"500m"`.

    Raises:
        Rejected: It is no such amount.
    """
    number, unit = _amount(value, field, "must be a number of cores", _CPU_HINT)
    if unit not in ("", "m"):
        raise _refused(value, field, f"has the unit {unit!r}, which cores do not have", _CPU_HINT)
    milli = number if unit == "m" else number * 1000
    if milli != int(milli):
        raise _refused(value, field, "is finer than a thousandth of a core", "write 1m at least")
    _within(value, field, int(milli), (1, CPU_MILLI_MAX), ("1m", f"{CPU_MILLI_MAX // 1000} cores"))
    return int(milli)


def parse_memory(value: object, *, field: str) -> int:
    """Return bytes, from `"512MiB"`, `"1.5GiB"`, `"2GB"` and the like.

    Raises:
        Rejected: It is no such amount, or has no unit.
    """
    number, unit = _amount(value, field, "must be an amount of memory", _MEMORY_HINT)
    if not unit:
        raise _refused(value, field, "has no unit", f"write {number}MiB or {number}GiB")
    if unit not in _MEMORY_UNITS:
        raise _refused(value, field, f"has the unknown unit {unit!r}", _like_unit(unit))
    size = int(number * _MEMORY_UNITS[unit])  # a fraction of a byte is nobody's intention
    bounds = (MEMORY_BYTES_MIN, MEMORY_BYTES_MAX)
    _within(value, field, size, bounds, (format_memory(bounds[0]), format_memory(bounds[1])))
    return size


def parse_duration(
    value: object, *, field: str, least: int = 1, most: int = DURATION_MS_MAX
) -> int:
    """Return milliseconds, from `"500ms"`, `"30s"`, `"2m"`, `"1h30m"`.

    Args:
        value: What the document holds.
        field: Its name, for the message.
        least: Lower bound, in milliseconds.
        most: Upper bound, in milliseconds.

    Raises:
        Rejected: It is no such span, or has no unit.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise _refused(value, field, "has no unit", f"write {value}s for seconds")
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise _refused(value, field, "must be a span of time", _DURATION_HINT)
    parts = _DURATION_PART.findall(value)
    total = sum((Decimal(number) * _DURATION_UNITS[unit] for number, unit in parts), Decimal(0))
    span = int(total)
    _within(
        value,
        field,
        span,
        (least, most),
        (format_duration(least) if least else "0s", format_duration(most)),
    )
    return span


def format_cpu(milli: int) -> int | float:
    """Return cores as a number that `parse_cpu` reads back exactly."""
    return milli // 1000 if milli % 1000 == 0 else milli / 1000


def format_memory(size: int) -> str:
    """Return bytes in the largest binary unit that divides them, so nothing is rounded."""
    for unit, factor in reversed(_BINARY.items()):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


def format_duration(span_ms: int) -> str:
    """Return milliseconds in the largest unit that divides them, so nothing is rounded."""
    for unit, factor in reversed(_DURATION_UNITS.items()):
        if span_ms % factor == 0:
            return f"{span_ms // factor}{unit}"
    raise AssertionError("unreachable: one millisecond divides every span")


def _amount(value: object, field: str, rule: str, hint: str) -> tuple[Decimal, str]:
    text = str(value) if isinstance(value, int | float) else value
    if isinstance(value, bool) or not isinstance(text, str):
        raise _refused(value, field, rule, hint)
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise _refused(value, field, rule, hint)
    return Decimal(match[1]), match[2]


def _like_unit(unit: str) -> str:
    by_letter = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}
    known = by_letter.get(unit[0].lower())
    return f"write {known}" if known else f"use one of {', '.join(_MEMORY_UNITS)}"


def _within(
    value: object, field: str, amount: int, bounds: tuple[int, int], names: tuple[str, str]
) -> None:
    if not bounds[0] <= amount <= bounds[1]:
        rule = f"must be from {names[0]} to {names[1]}"
        hint = "ask for more" if amount < bounds[0] else "ask for less"
        raise _refused(value, field, rule, hint)


def _refused(value: object, field: str, rule: str, hint: str) -> Rejected:
    return Rejected(rule, field=field, value=shown(value), hint=hint)
