"""One row of Dorm's own trace format, from CSV or YAML."""

from collections.abc import Mapping
from typing import Final

from dorm.simulate.faults import Where
from dorm.simulate.job import Curve
from dorm.simulate.traces.request import Request
from dorm.spec.parse import WEIGHT_MAX
from dorm.spec.units import parse_cpu, parse_memory
from events.apps import PRIORITY_MAX, PRIORITY_MIN
from events.units import Resources

Row = Mapping[str, object]

KINDS: Final = ("kind", "application", "job_type", "vc")  # what public traces call it
FIELDS: Final = (
    *("submit_s", "duration_s", "work", "containers", "gpus", "min", "max"),
    *("cpu", "memory", "gpu", "demand", "weight", "priority", "alpha", "speed", "name", *KINDS),
)


def read_row(where: Where, row: Row) -> Request:
    """Return the request of one row. Fields that nobody knows are passed over in CSV files.

    Raises:
        Rejected: A field is missing or has a value that it cannot have.
    """
    curve = _curve(where, row)
    containers = _containers(where, row)
    low = _optional(where, row, "min")
    high = _optional(where, row, "max")
    if low is not None and high is not None and high < low:
        raise where.fault("max", high, f"is below min, which is {low}")
    return Request(
        name=_text(row, "name"),
        kind=next((text for name in KINDS if (text := _text(row, name))), ""),
        submitted_s=where.number("submit_s", _needed(where, row, "submit_s")),
        duration_s=_duration(where, row, (curve or Curve()).speed(containers)),
        containers=containers,
        demand=_demand(where, row),
        min=low,
        max=high,
        weight=where.number("weight", row.get("weight") or 1, most=WEIGHT_MAX, above=True),
        priority=int(
            where.number(
                "priority", row.get("priority") or 0, least=PRIORITY_MIN, most=PRIORITY_MAX
            )
        ),
        curve=curve,
    )


def _duration(where: Where, row: Row, speed: float) -> float:
    if _text(row, "duration_s"):
        return where.number("duration_s", row["duration_s"], above=True)
    if _text(row, "work"):
        return where.number("work", row["work"], above=True) / speed
    hint = "or give `work`, in seconds of one container"
    raise where.fault("duration_s", "", "is missing", hint)


def _containers(where: Where, row: Row) -> int:
    for name in ("containers", "gpus"):
        if _text(row, name):
            return where.whole(name, row[name], least=1)
    return 1


def _demand(where: Where, row: Row) -> Resources | None:
    nested = row.get("demand")
    amounts: Row = nested if isinstance(nested, Mapping) else row
    if nested is not None and not isinstance(nested, Mapping):
        raise where.fault("demand", nested, "must be a mapping", "write {cpu: 2, memory: 8GiB}")
    if not any(_text(amounts, name) for name in ("cpu", "memory", "gpu")):
        return None
    cpu = parse_cpu(_plain(amounts["cpu"]), field=where.at("cpu")) if _text(amounts, "cpu") else 0
    memory = 0
    if _text(amounts, "memory"):
        memory = parse_memory(amounts["memory"], field=where.at("memory"))
    gpus = amounts.get("gpu") or (1 if _text(row, "gpus") else 0)
    demand = Resources(
        cpu_milli=cpu, memory_bytes=memory, gpu_count=where.whole("gpu", gpus, least=0)
    )
    if demand == Resources():
        raise where.fault("demand", amounts, "asks for nothing")
    return demand


def _curve(where: Where, row: Row) -> Curve | None:
    if speed := row.get("speed"):
        pairs = speed.items() if isinstance(speed, Mapping) else _pairs(where, str(speed))
        points = sorted(
            (where.whole("speed", size, least=1), where.number("speed", value, above=True))
            for size, value in pairs
        )
        if len({size for size, _ in points}) < len(points):
            raise where.fault("speed", speed, "has a size twice")
        return Curve(points=tuple(points))
    if _text(row, "alpha"):
        return Curve(alpha=where.number("alpha", row["alpha"]))
    return None


def _pairs(where: Where, text: str) -> list[tuple[str, str]]:
    pairs = [pair.partition(":") for pair in text.split()]
    if any(not colon for _, colon, _ in pairs):
        raise where.fault("speed", text, "is no speed curve", "write 1:1.0 2:1.9 4:3.5")
    return [(size, speed) for size, _, speed in pairs]


def _optional(where: Where, row: Row, name: str) -> int | None:
    return where.whole(name, row[name], least=1) if _text(row, name) else None


def _needed(where: Where, row: Row, name: str) -> object:
    if not _text(row, name):
        raise where.fault(name, "", "is missing")
    return row[name]


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value).strip()


def _plain(value: object) -> object:
    return value.strip() if isinstance(value, str) else value
