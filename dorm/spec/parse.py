"""A document to an `AppSpec`. Every fault of the document is found in one reading."""

import re
from collections.abc import Callable
from typing import Final

from dorm.spec import document
from dorm.spec.container import read_commands, read_env, read_image, read_resources
from dorm.spec.faults import SpecFaults
from dorm.spec.fields import Faults, Fields, built
from dorm.spec.speed import read_speed
from dorm.spec.storage import read_checkpoint, read_mounts
from dorm.spec.units import parse_duration
from events.apps import (
    NAME_LENGTH_MAX,
    ON_DISCONNECT,
    PRIORITY_MAX,
    PRIORITY_MIN,
    AppSpec,
    RetryPolicy,
    Scale,
)
from events.errors import Rejected

FIELDS: Final = (
    "name",
    "image",
    "run",
    "resources",
    "scale",
    "weight",
    "priority",
    "speed",
    "onDisconnect",
    "env",
    "checkpoint",
    "mounts",
    "retry",
)
CONTAINERS_MAX: Final = 10_000
WEIGHT_MAX: Final = 1_000_000.0
RETRIES_MAX: Final = 1_000

_NAME: Final = re.compile(r"[a-z](?:[a-z0-9-]*[a-z0-9])?", re.ASCII)


def from_yaml(text: str | bytes) -> AppSpec:
    """Return the spec that a YAML document describes.

    Raises:
        SpecFaults: With everything that is wrong with it.
    """
    return _from_text(document.load_yaml, text)


def from_json_text(text: str | bytes) -> AppSpec:
    """Return the spec that a JSON document describes; the fields are those of the YAML form.

    Raises:
        SpecFaults: With everything that is wrong with it.
    """
    return _from_text(document.load_json, text)


def _from_text(load: Callable[[str | bytes], object], text: str | bytes) -> AppSpec:
    try:
        plain = load(text)
    except Rejected as fault:
        raise SpecFaults([fault]) from fault
    return from_plain(plain)


def from_plain(plain: object) -> AppSpec:
    """Return the spec that a document, already read into plain values, describes.

    Raises:
        SpecFaults: With everything that is wrong with it.
    """
    faults = Faults()
    if plain is None:
        faults.add("is empty", field="document", hint=f"write the fields {', '.join(FIELDS)}")
        raise SpecFaults(faults.found)
    top = Fields(plain, path="", known=FIELDS, faults=faults)
    spec = _spec(top) if top.is_mapping else None
    if faults.found:
        raise SpecFaults(faults.found)
    assert spec is not None, "a part that cannot be read leaves a fault"
    return spec


def _spec(top: Fields) -> AppSpec | None:
    name, image = _name(top), read_image(top)
    start, resume = read_commands(top)
    resources, pids_max = read_resources(top)
    scale, weight = _scale(top), top.number("weight", high=WEIGHT_MAX, default=1.0)
    priority = top.whole("priority", low=PRIORITY_MIN, high=PRIORITY_MAX, default=0)
    speed = read_speed(top, containers_max=CONTAINERS_MAX)
    on_disconnect = top.choice("onDisconnect", ON_DISCONNECT, default="stop")
    env = read_env(top)
    mounts = read_mounts(top)
    return built(
        AppSpec,
        name=name,
        image=image,
        start=start,
        resume=resume,
        resources=resources,
        pids_max=pids_max,
        scale=scale,
        weight=weight,
        env=env,
        checkpoint=read_checkpoint(top, mounts),
        mounts=mounts,
        retry=_retry(top),
        priority=priority,
        speed=speed,
        on_disconnect=on_disconnect,
    )


def _name(top: Fields) -> str | None:
    if not top.require("name", hint="write name: with a short name, such as digits"):
        return None
    name = top.text("name")
    if name is None:
        return None
    if len(name) > NAME_LENGTH_MAX:
        top.fault("name", f"is longer than {NAME_LENGTH_MAX} letters", hint="shorten it")
        return None
    if not _NAME.fullmatch(name):
        rule = "must be small letters, digits and dashes, with a letter first and no dash last"
        top.fault("name", rule, hint=f"write {_near_name(name)}")
        return None
    return name


def _near_name(name: str) -> str:
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    begun = cleaned if cleaned[:1].isalpha() else f"app-{cleaned}"
    return begun[:NAME_LENGTH_MAX].strip("-")


def _scale(top: Fields) -> Scale | None:
    """Return the bounds: one container if nothing is said, `min` of them if only that is."""
    fields = top.within("scale", ("min", "max"))
    low = fields.whole("min", low=1, high=CONTAINERS_MAX, default=1)
    high = fields.whole("max", low=1, high=CONTAINERS_MAX, default=low)
    if low is None or high is None:
        return None
    if high < low:
        fields.fault("max", f"is below scale.min, which is {low}", hint=f"write {low} or more")
        return None
    return Scale(min=low, max=high)


def _retry(top: Fields) -> RetryPolicy | None:
    fields, usual = top.within("retry", ("max", "backoff", "maxBackoff")), RetryPolicy()
    first = fields.amount("backoff", parse_duration, default=usual.backoff_ms)
    fallback = max(usual.backoff_max_ms, first or 0)
    longest = fields.amount("maxBackoff", parse_duration, default=fallback)
    if first is not None and longest is not None and longest < first:
        fields.fault("maxBackoff", "is below retry.backoff", hint="make it as long, or longer")
        longest = None
    times = fields.whole("max", low=0, high=RETRIES_MAX, default=usual.max)
    return built(RetryPolicy, max=times, backoff_ms=first, backoff_max_ms=longest)
