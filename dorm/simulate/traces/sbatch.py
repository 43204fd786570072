"""Batch scripts for Slurm: what their `#SBATCH` lines ask for."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from dorm.simulate.faults import Where
from dorm.simulate.files import read_text
from dorm.simulate.traces.request import Request, Trace
from dorm.simulate.traces.slurm import memory_bytes, seconds
from events.errors import Rejected
from events.units import Resources

SUFFIXES: Final = (".sbatch", ".slurm", ".sh", ".job")
SHORT: Final = {
    "-n": "--ntasks",
    "-c": "--cpus-per-task",
    "-N": "--nodes",
    "-t": "--time",
    "-J": "--job-name",
    "-p": "--partition",
    "-a": "--array",
    "-G": "--gpus",
}
ARRAY_MAX: Final = 100_000

_GPUS: Final = re.compile(r"(?:gpu:)?(?:[A-Za-z][^:,]*:)?(\d{1,6})", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)

Options = Mapping[str, tuple[str, Where]]


def is_sbatch(text: str) -> bool:
    """Return whether a text is such a script."""
    return text.startswith("#!") and "\n#SBATCH" in text


def read_sbatch(path: Path, *, spacing_s: float) -> Trace:
    """Return a script, or every script of a directory, as if submitted one after the other.

    The run time is the time limit (`--time`), which is more than most jobs need.

    Args:
        path: A script or a directory.
        spacing_s: Seconds between two submits.

    Raises:
        Rejected: There is no script, or one has an option that cannot be read.
    """
    scripts = [path]
    if path.is_dir():
        scripts = [one for one in sorted(path.iterdir()) if one.suffix in SUFFIXES]
    requests: list[Request] = []
    for script in scripts:
        request, copies = _read(script)
        for _ in range(copies):
            at_s = len(requests) * spacing_s
            requests.append(attrs.evolve(request, submitted_s=at_s))
    if not requests:
        hint = f"scripts end in {', '.join(SUFFIXES)}"
        raise Rejected("has no batch script", field=str(path), hint=hint)
    notes = ("run times are the scripts' time limits",)
    return Trace(name=path.name, requests=tuple(requests), notes=notes)


def _read(script: Path) -> tuple[Request, int]:
    options = _options(script.name, read_text(script))
    where = Where(path=script.name, place="#SBATCH")
    if "--time" not in options:
        hint = "add a line such as #SBATCH --time=02:00:00"
        raise where.fault("--time", "", "is missing, so nobody knows how long it runs", hint)
    limit, time_where = options["--time"]
    nodes = _whole(options, "--nodes", 1)
    tasks = _whole(options, "--ntasks", nodes * _whole(options, "--ntasks-per-node", 1))
    cpus = tasks * _whole(options, "--cpus-per-task", 1)
    gpus = _gpus(options, nodes, tasks)
    containers = gpus or tasks
    demand = Resources(
        cpu_milli=cpus * 1000 // containers,
        memory_bytes=_memory(options, nodes, cpus, gpus) // containers,
        gpu_count=1 if gpus else 0,
    )
    request = Request(
        name=options["--job-name"][0] if "--job-name" in options else script.stem,
        kind=options["--partition"][0] if "--partition" in options else "",
        submitted_s=0.0,
        duration_s=seconds(time_where, "--time", limit),
        containers=containers,
        demand=demand,
    )
    if not request.duration_s:
        raise time_where.fault("--time", limit, "is no limit", "give the time that it may take")
    return request, _copies(options)


def _options(name: str, text: str) -> Options:
    """Return the options by long name. Slurm reads no further than the first command."""
    options: dict[str, tuple[str, Where]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            break
        if not line.startswith("#SBATCH"):
            continue
        where = Where(path=name, place=f"line {number}")
        try:
            words = shlex.split(line.removeprefix("#SBATCH"), comments=True)
        except ValueError as error:
            raise where.fault("#SBATCH", line, f"cannot be read: {error}") from error
        options |= {key: (value, where) for key, value in _pairs(words)}
    return options


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("--"):
            key, _, value = word.partition("=")
            pairs.append((key, value))
        elif word.startswith("-") and len(word) > 1:
            pairs.append((SHORT.get(word[:2], word[:2]), word[2:].removeprefix("=")))
        elif pairs and not pairs[-1][1]:
            pairs[-1] = (pairs[-1][0], word)
    return pairs


def _whole(options: Options, name: str, default: int) -> int:
    if name not in options:
        return default
    text, where = options[name]
    return where.whole(name, text.partition("-")[0], least=1)  # `--nodes=2-4`: the least


def _gpus(options: Options, nodes: int, tasks: int) -> int:
    for name, times in (
        ("--gpus", 1),
        ("--gpus-per-node", nodes),
        ("--gpus-per-task", tasks),
        ("--gres", nodes),
    ):
        if name not in options:
            continue
        text, where = options[name]
        parts = [part for part in text.split(",") if name != "--gres" or part.startswith("gpu")]
        counts = [_GPUS.fullmatch(part if part != "gpu" else "1") for part in parts]
        if None in counts:
            raise where.fault(name, text, "is no number of GPUs", "such as gpu:2 or gpu:a100:2")
        return times * sum(int(count[1]) for count in counts if count)
    return 0


def _memory(options: Options, nodes: int, cpus: int, gpus: int) -> int:
    for name, times in (("--mem", nodes), ("--mem-per-cpu", cpus), ("--mem-per-gpu", gpus)):
        if name in options:
            text, where = options[name]
            return memory_bytes(where, name, text)[0] * times
    return 0


def _copies(options: Options) -> int:
    if "--array" not in options:
        return 1
    text, where = options["--array"]
    copies = 0
    for part in text.partition("%")[0].split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise where.fault("--array", text, "is no list of indices", "such as 0-9 or 1,3,5")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        copies += len(range(first, last + 1, max(1, step)))
    if not 1 <= copies <= ARRAY_MAX:
        raise where.fault("--array", text, f"must have 1 to {ARRAY_MAX} tasks")
    return copies
