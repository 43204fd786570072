"""What the accounting of Slurm tells of jobs that have run: the output of `sacct -P`."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from dorm.simulate.faults import Where
from dorm.simulate.traces.request import Request, Trace
from dorm.simulate.traces.slurm import seconds, tres
from events.errors import Rejected
from events.units import Resources

NEEDED: Final = ("JobID", "Submit")
COMMAND: Final = "sacct -a -X -P -o JobID,JobName,Submit,Elapsed,State,Partition,ReqTRES,AllocTRES"


def is_sacct(header: str) -> bool:
    """Return whether a file that begins with this line is an export of sacct."""
    names = header.split("|")
    return all(name in names for name in NEEDED)


def read_sacct(name: str, text: str) -> Trace:
    """Return the jobs that ran. Steps (`123.batch`) and jobs that never started are left out.

    A container is one GPU with its part of cpus and memory; without GPUs one node's part.

    Raises:
        Rejected: A column is missing, or a value is bad, with its line.
    """
    lines = text.splitlines()
    header = lines[0].strip().split("|")
    for column in ("Elapsed", "State"):
        if column not in header:
            raise Rejected(f"has no column {column}", field=name, hint=f"export with: {COMMAND}")
    if not {"AllocTRES", "ReqTRES"} & set(header):
        raise Rejected("has no column ReqTRES", field=name, hint=f"export with: {COMMAND}")
    requests: list[Request] = []
    skipped: Counter[str] = Counter()
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where = Where(path=name, place=f"line {number}")
        values = line.split("|")
        if len(values) != len(header):
            raise where.fault("row", line, f"has not {len(header)} values")
        row = dict(zip(header, values, strict=True))
        if "." in row["JobID"]:
            continue  # A step: its job has a line of its own.
        if request := _request(where, row):
            requests.append(request)
        else:
            skipped[row["State"].partition(" ")[0].lower() or "unknown"] += 1
    notes = tuple(
        f"{count} jobs without a run time are left out ({state})"
        for state, count in sorted(skipped.items())
    )
    return Trace(name=name, requests=tuple(requests), notes=notes)


def _request(where: Where, row: Mapping[str, str]) -> Request | None:
    elapsed = row["Elapsed"].strip()
    duration_s = seconds(where, "Elapsed", elapsed) if elapsed else 0.0
    resources = row.get("AllocTRES") or row.get("ReqTRES") or ""
    if not duration_s or not resources or row["Submit"] in ("Unknown", "None", ""):
        return None
    cpus, memory, gpus, nodes = tres(where, "TRES", resources)
    containers = gpus or nodes
    demand = Resources(
        cpu_milli=cpus * 1000 // containers,
        memory_bytes=memory // containers,
        gpu_count=1 if gpus else 0,
    )
    if demand == Resources():
        return None
    return Request(
        name=row.get("JobName") or row["JobID"],
        kind=row.get("Partition", ""),
        submitted_s=_submitted(where, row["Submit"]),
        duration_s=duration_s,
        containers=containers,
        demand=demand,
    )


def _submitted(where: Where, text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        if text.isdecimal():  # With SLURM_TIME_FORMAT=%s.
            return float(text)
        hint = "such as 2024-03-01T12:00:00"
        raise where.fault("Submit", text, "is no time of Slurm's", hint) from None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
