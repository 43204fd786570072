"""An `AppSpec` to the document that describes it, the inverse of `parse`."""

from collections.abc import Mapping
from typing import Any

import yaml

from dorm.spec.document import plain_scalar
from dorm.spec.units import format_cpu, format_duration, format_memory
from events.apps import AppSpec, SpeedPoint


def render(spec: AppSpec) -> str:
    """Return the spec as YAML, every field written out; parsing it gives the same spec."""
    text = yaml.dump(to_plain(spec), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    # PyYAML leaves marks as they are that turn a terminal's text around; they stand in quotes.
    return "".join(
        letter if letter.isprintable() or letter == "\n" else f"\\U{ord(letter):08x}"
        for letter in text
    )


def to_plain(spec: AppSpec) -> dict[str, Any]:
    """Return the spec as the plain values of its document, every field written out."""
    run = {"start": list(spec.start)}
    if spec.resume:
        run["resume"] = list(spec.resume)
    return {
        "name": spec.name,
        "image": spec.image,
        "run": run,
        "resources": {
            "cpu": format_cpu(spec.resources.cpu_milli),
            "memory": format_memory(spec.resources.memory_bytes),
            "gpu": spec.resources.gpu_count,
            "pids": spec.pids_max,
        },
        "scale": {"min": spec.scale.min, "max": spec.scale.max},
        "weight": spec.weight,
        "priority": spec.priority,
        "onDisconnect": spec.on_disconnect,
        "speed": [_speed(point) for point in spec.speed],
        "env": dict(spec.env),
        "checkpoint": _checkpoint(spec),
        "mounts": [
            {"name": m.name, "target": m.target, "mode": "ro" if m.read_only else "rw"}
            for m in spec.mounts
        ],
        "retry": {
            "max": spec.retry.max,
            "backoff": format_duration(spec.retry.backoff_ms),
            "maxBackoff": format_duration(spec.retry.backoff_max_ms),
        },
    }


def _checkpoint(spec: AppSpec) -> Mapping[str, str | int]:
    policy = spec.checkpoint
    path = {"path": policy.path} if policy.path else {}
    grace = format_duration(policy.grace_ms)
    return {"signal": policy.signal, "grace": grace, **path, "keep": policy.keep}


def _speed(point: SpeedPoint) -> Mapping[str, float]:
    nodes = {"nodes": point.nodes} if point.nodes else {}
    return {"containers": point.containers, "speed": point.speed, **nodes}


class _Dumper(yaml.SafeDumper):
    """Quotes every text that either YAML 1.1 or `plain_scalar` would read as something else."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML cannot read back all that it writes in single quotes, such as a lone U+0085.
    plain_enough = isinstance(plain_scalar(text), str) and text.isprintable()
    style = None if plain_enough else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
