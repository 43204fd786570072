"""What the API takes, as JSON schemas, for `dorm.api.openapi`.

The parsers decide (`dorm.spec`, `dorm.api.changes`, `dorm.api.policy`), and say more than a schema
can; a test compares their fields with these.
"""

from collections.abc import Mapping
from typing import Any, Final

from dorm.api.policy import COUNTS, FACTORS, Bounds
from dorm.spec.container import ENV_MAX, GPUS_MAX, PIDS_MAX
from dorm.spec.parse import CONTAINERS_MAX, RETRIES_MAX, WEIGHT_MAX
from dorm.spec.speed import NODES_MAX, SPEED_MAX
from dorm.spec.units import CPU_MILLI_MAX
from events.apps import (
    CHECKPOINT_SIGNALS,
    KEEP_MAX,
    KEEP_MIN,
    NAME_LENGTH_MAX,
    ON_DISCONNECT,
    PRIORITY_MAX,
    PRIORITY_MIN,
    SPEED_POINTS_MAX,
)
from events.policy import POLICIES

Json = dict[str, Any]


def _object(
    properties: Mapping[str, Json], *, required: tuple[str, ...] = (), **more: object
) -> Json:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _whole(low: int, high: int) -> Json:
    return {"type": "integer", "minimum": low, "maximum": high}


def _above_0(high: float) -> Json:
    return {"type": "number", "exclusiveMinimum": 0, "maximum": high}


def _from_to(bounds: Bounds, kind: str) -> Json:
    low, high = bounds
    return {"type": kind, "minimum": low, "maximum": high}


_TEXT: Final = {"type": "string", "minLength": 1}
_COMMAND: Final = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_NUMBER: Final = r"\d{1,18}(\.\d{1,18})?"
_CPU: Final = {
    "anyOf": [
        {"type": "number", "minimum": 0.001, "maximum": CPU_MILLI_MAX // 1000},
        {"type": "string", "pattern": f"^{_NUMBER}m?$"},
    ]
}
_MEMORY: Final = {"type": "string", "pattern": rf"^{_NUMBER}\s*([KMGT]iB|[kMGT]?B)$"}
_DURATION: Final = {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h))+$"}
_CONTAINERS: Final = _whole(1, CONTAINERS_MAX)

SPEC: Final = _object(
    {
        "name": {
            "type": "string",
            "pattern": "^[a-z]([a-z0-9-]*[a-z0-9])?$",
            "maxLength": NAME_LENGTH_MAX,
        },
        "image": {"type": "string", "pattern": r"^\S+$"},
        "run": _object({"start": _COMMAND, "resume": _COMMAND}, required=("start",)),
        "resources": _object(
            {
                "cpu": _CPU,
                "memory": _MEMORY,
                "gpu": _whole(0, GPUS_MAX),
                "pids": _whole(1, PIDS_MAX),
            },
            required=("cpu", "memory"),
        ),
        "scale": _object({"min": _CONTAINERS, "max": _CONTAINERS}),
        "weight": _above_0(WEIGHT_MAX),
        "priority": _whole(PRIORITY_MIN, PRIORITY_MAX),
        "onDisconnect": {"type": "string", "enum": list(ON_DISCONNECT)},
        "speed": {
            "anyOf": [
                {
                    "type": "object",
                    "propertyNames": {"pattern": "^[1-9][0-9]{0,4}$"},
                    "additionalProperties": _above_0(SPEED_MAX),
                    "maxProperties": SPEED_POINTS_MAX,
                },
                {
                    "type": "array",
                    "items": _object(
                        {
                            "containers": _CONTAINERS,
                            "speed": _above_0(SPEED_MAX),
                            "nodes": _whole(0, NODES_MAX),
                        },
                        required=("containers", "speed"),
                    ),
                    "maxItems": SPEED_POINTS_MAX,
                },
            ]
        },
        "env": {
            "type": "object",
            "propertyNames": {"pattern": "^(?!DORM_)[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": "string"},
            "maxProperties": ENV_MAX,
        },
        "checkpoint": _object(
            {
                "signal": {"type": "string", "enum": list(CHECKPOINT_SIGNALS)},
                "grace": _DURATION,
                "path": {"type": "string"},
                "keep": _whole(KEEP_MIN, KEEP_MAX),
            }
        ),
        "mounts": {
            "type": "array",
            "items": _object(
                {
                    "name": _TEXT,
                    "target": {"type": "string", "pattern": "^/"},
                    "mode": {"type": "string", "enum": ["rw", "ro"]},
                },
                required=("name", "target"),
            ),
        },
        "retry": _object(
            {"max": _whole(0, RETRIES_MAX), "backoff": _DURATION, "maxBackoff": _DURATION}
        ),
    },
    required=("name", "image", "run", "resources"),
)

CHANGE: Final = _object(
    {
        "weight": _above_0(WEIGHT_MAX),
        "min": _CONTAINERS,
        "max": _CONTAINERS,
        "priority": _whole(PRIORITY_MIN, PRIORITY_MAX),
    },
    minProperties=1,
)

RULES: Final = _object(
    {
        "policy": {"type": "string", "enum": list(POLICIES)},
        **{name: _from_to(bounds, "number") for name, bounds in FACTORS.items()},
        **{name: _from_to(bounds, "integer") for name, bounds in COUNTS.items()},
    },
    minProperties=1,
)

EPOCH: Final = _object({"after": _whole(1, (1 << 63) - 1)}, required=("after",))

BODIES: Final[Mapping[str, Json]] = {
    "spec": {
        "application/json": {"schema": {"$ref": "#/components/schemas/Spec"}},
        "application/yaml": {"schema": {"type": "string"}},
    },
    "change": {"application/json": {"schema": CHANGE}},
    "rules": {"application/json": {"schema": RULES}},
    "epoch": {"application/json": {"schema": EPOCH}},
}
"""Media types and schemas of each request body, by the name that `openapi` calls it."""
