"""Amounts as Slurm writes them: `1-02:03:04`, `64G`, `cpu=8,gres/gpu=2,mem=64G`."""

import re
from typing import Final

from dorm.simulate.faults import Where

_SPAN: Final = re.compile(
    r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,6}))?(?::(\d{1,6}(?:\.\d+)?))?", re.ASCII
)
_MEMORY: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([KMGTP]?)([cn]?)B?", re.ASCII)
_FACTORS: Final = {
    "K": 1 << 10,
    "": 1 << 20,
    "M": 1 << 20,
    "G": 1 << 30,
    "T": 1 << 40,
    "P": 1 << 50,
}
_GPU: Final = re.compile(r"gres/gpu(?::[^=]+)?=(\d{1,9})", re.ASCII)


def seconds(where: Where, field: str, text: str) -> float:
    """Return a time limit or an elapsed time in seconds.

    Slurm writes minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes
    or days-hours:minutes:seconds.

    Raises:
        Rejected: It is none of these.
    """
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise where.fault(
            field, text, "is no time of Slurm's", "such as 30, 12:00:00 or 2-12:00:00"
        )
    days, first, second, third = match[1], float(match[2]), match[3], match[4]
    if days is not None:
        hours, minutes, rest = first, float(second or 0), float(third or 0)
    elif third is not None:
        hours, minutes, rest = first, float(second), float(third)
    else:
        hours, minutes, rest = 0.0, first, float(second or 0)
    return float(days or 0) * 86_400 + hours * 3_600 + minutes * 60 + rest


def memory_bytes(where: Where, field: str, text: str) -> tuple[int, str]:
    """Return bytes, and `c`, `n` or nothing for per cpu, per node, or as the field says.

    A number without a unit counts mebibytes.

    Raises:
        Rejected: It is no amount of memory.
    """
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        raise where.fault(field, text, "is no memory of Slurm's", "such as 64G or 4000M")
    return int(float(match[1]) * _FACTORS[match[2]]), match[3]


def tres(where: Where, field: str, text: str) -> tuple[int, int, int, int]:
    """Return cpus, bytes of memory, GPUs and nodes of a list of trackable resources.

    A typed entry such as `gres/gpu:a100=2` is a part of `gres/gpu=2`, so GPUs are not added up
    when both are there.

    Raises:
        Rejected: It is no such list.
    """
    amounts = dict(pair.partition("=")[::2] for pair in text.split(",") if pair)
    gpus = [int(match[1]) for match in map(_GPU.fullmatch, text.split(",")) if match]
    plain = amounts.get("gres/gpu")
    cpus = where.whole(f"{field} cpu", amounts.get("cpu", 0))
    nodes = where.whole(f"{field} node", amounts.get("node", 1), least=1)
    memory = 0
    if amounts.get("mem"):
        memory = memory_bytes(where, f"{field} mem", amounts["mem"])[0]
    count = where.whole(f"{field} gres/gpu", plain) if plain is not None else sum(gpus)
    return cpus, memory, count, nodes
