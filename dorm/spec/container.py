"""What one container is: its image, commands, environment and demand."""

import re
from collections.abc import Mapping
from typing import Final

from dorm.spec.faults import shown
from dorm.spec.fields import Fields, built, quoted
from dorm.spec.units import parse_cpu, parse_memory
from events.units import Resources

GPUS_MAX: Final = 64
PIDS_MAX: Final = 4_194_304  # the kernel's own limit, PID_MAX_LIMIT
PIDS_DEFAULT: Final = 1024
ENV_MAX: Final = 512

_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_COMMAND_HINT: Final = 'write a list: ["python", "train.py"]'
_ENV_HINT: Final = "write NAME: value below it"


def read_image(top: Fields) -> str | None:
    """Return the image's name."""
    if not top.require("image", hint="write image: with the name of a Docker image"):
        return None
    image = top.text("image")
    if image is not None and any(letter.isspace() for letter in image):
        top.fault("image", "must have no spaces in it", hint="write name:tag")
        return None
    return image


def read_commands(top: Fields) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the start command and the resume command, which may be empty."""
    top.require("run", hint="write run: with start: below it, the command to run")
    run = top.within("run", ("start", "resume"))
    start = None
    if run.is_mapping and run.require("start", hint=_COMMAND_HINT):
        start = _command(run, "start")
    return start, _command(run, "resume")


def _command(run: Fields, name: str) -> tuple[str, ...] | None:
    value = run.raw(name)
    if isinstance(value, str):
        hint = f"write each word by itself: {shown(value.split())}"
        run.fault(name, "must be a list of words, because no shell reads it", hint=hint)
        return None
    words = run.items(name, hint=_COMMAND_HINT)
    if value == [] or (words and words[0] == ""):
        run.fault(name, "names no program", hint=_COMMAND_HINT)
        return None
    wrong = [(index, word) for index, word in enumerate(words) if not isinstance(word, str)]
    for index, word in wrong:
        run.fault(f"{name}[{index}]", "must be text", hint=quoted(word), value=word)
    return None if wrong else tuple(str(word) for word in words)


def read_env(top: Fields) -> Mapping[str, str] | None:
    """Return the environment. Names that begin with DORM_ are Dorm's own."""
    entries = top.entries("env", hint=_ENV_HINT)
    if len(entries) > ENV_MAX:
        rule = f"has {len(entries)} variables, more than {ENV_MAX}"
        top.fault("env", rule, hint="put them into a file of the image")
        return None
    good = [_check_env(top, name, value) for name, value in entries.items()]
    return {name: str(value) for name, value in entries.items()} if all(good) else None


def _check_env(top: Fields, name: str, value: object) -> bool:
    at = f"env.{name}"
    if not _ENV_NAME.fullmatch(name):
        top.fault(
            at,
            "is no name of a variable",
            hint="use letters, digits and _, and no digit first",
            value=name,
        )
    elif name.startswith("DORM_"):
        top.fault(at, "is reserved for Dorm", hint="choose a name without DORM_", value=name)
    elif not isinstance(value, str):
        top.fault(at, "must be text", hint=quoted(value), value=value)
    else:
        return True
    return False


def read_resources(top: Fields) -> tuple[Resources | None, int | None]:
    """Return the demand of one container, and how many processes it may have."""
    top.require("resources", hint="say what one container needs: cpu: 1 and memory: 1GiB below it")
    asked = top.within("resources", ("cpu", "memory", "gpu", "pids"))
    if asked.is_mapping:
        asked.require("cpu", hint="say what one container needs, such as 0.5")
        asked.require("memory", hint="say what one container needs, such as 512MiB")
    demand = built(
        Resources,
        cpu_milli=asked.amount("cpu", parse_cpu),
        memory_bytes=asked.amount("memory", parse_memory),
        gpu_count=asked.whole("gpu", low=0, high=GPUS_MAX, default=0),
    )
    return demand, asked.whole("pids", low=1, high=PIDS_MAX, default=PIDS_DEFAULT)
