"""How fast an application is at which size: the curve that a user knows or has measured."""

import re
from collections.abc import Iterator
from typing import Final

from dorm.spec.fields import Fields, built
from events.apps import SPEED_POINTS_MAX, SpeedPoint

SPEED_MAX: Final = 1e9
NODES_MAX: Final = 10_000

_COUNT: Final = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_HINT: Final = "write speed: {1: 1.0, 8: 6.5}, containers and their speed in any unit"
_SPEED_HINT: Final = "leave the size out if it was never measured"


def read_speed(top: Fields, *, containers_max: int) -> tuple[SpeedPoint, ...] | None:
    """Return the speed curve, from `{1: 1.0, 8: 6.5}` or a list of points; empty without one."""
    value = top.raw("speed")
    if value is None:
        return ()
    if not isinstance(value, dict | list):
        top.fault("speed", "must be a mapping of containers to speed, or a list", hint=_HINT)
        return None
    if len(value) > SPEED_POINTS_MAX:
        rule = f"has {len(value)} sizes, more than {SPEED_POINTS_MAX}"
        top.fault("speed", rule, hint="leave some of them out")
        return None
    read = _of_mapping if isinstance(value, dict) else _of_list
    points = list(read(top, containers_max))
    return None if None in points else tuple(point for point in points if point is not None)


def _of_mapping(top: Fields, containers_max: int) -> Iterator[SpeedPoint | None]:
    sizes = tuple(top.entries("speed", hint=_HINT))
    fields = top.within("speed", sizes)
    for size in sizes:
        if not _COUNT.fullmatch(size) or int(size) > containers_max:
            rule = f"must be a number of containers, from 1 to {containers_max}"
            top.fault("speed", rule, hint=_HINT, value=size)
            yield None
        else:
            yield built(SpeedPoint, containers=int(size), speed=_speed(fields, size))


def _of_list(top: Fields, containers_max: int) -> Iterator[SpeedPoint | None]:
    seen: dict[str, int] = {}
    for index, _ in enumerate(top.items("speed", hint=_HINT)):
        fields = top.element("speed", index, ("containers", "speed", "nodes"))
        point = _point(fields, containers_max) if fields.is_mapping else None
        if point is not None and (first := seen.setdefault(point.where, index)) != index:
            rule = f"is about {point.where}, as speed[{first}] is"
            top.fault(f"speed[{index}]", rule, hint="keep one of the two", value=point.speed)
            point = None
        yield point


def _point(fields: Fields, containers_max: int) -> SpeedPoint | None:
    if not fields.require("containers", hint="say for how many containers this speed is"):
        return None
    return built(
        SpeedPoint,
        containers=fields.whole("containers", low=1, high=containers_max),
        speed=_speed(fields, "speed"),
        nodes=fields.whole("nodes", low=0, high=NODES_MAX, default=0),
    )


def _speed(fields: Fields, name: str) -> float | None:
    if not fields.require(name, hint=_SPEED_HINT):
        return None
    return fields.number(name, high=SPEED_MAX, default=0.0, hint=_SPEED_HINT)
