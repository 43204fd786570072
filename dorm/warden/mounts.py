"""Which cgroups this machine has."""

from pathlib import Path
from typing import Final

import attrs

from dorm.warden.groups import Kernel
from dorm.warden.v1 import Version1
from dorm.warden.v2 import Version2
from events.errors import Rejected

_MOUNTS: Final = Path("/proc/self/mounts")
_FREEZER: Final = "freezer"


@attrs.frozen(kw_only=True)
class Hierarchies:
    """The hierarchies of cgroups that are mounted here.

    Attributes:
        guarded: The one by which containers are frozen.
        roots: All of them: engines make a container's group in each.
    """

    guarded: Kernel
    roots: tuple[Path, ...]


def find(chosen: Path | None = None) -> Hierarchies:
    """Return this machine's hierarchies.

    Args:
        chosen: The one to guard; found when it is not given: the freezer of version 1 where it is
            mounted, as engines do it, else that of version 2.

    Raises:
        Rejected: There is none by which containers could be frozen.
    """
    roots: dict[Path, Kernel | None] = {}
    for line in _MOUNTS.read_text().splitlines():
        _, where, kind, options, *_ = line.split()
        root = Path(where)
        if kind == "cgroup2":
            roots[root] = Version2(root)
        elif kind == "cgroup":
            roots[root] = Version1(root) if _FREEZER in options.split(",") else None
    kernels = [kernel for kernel in roots.values() if kernel and chosen in {None, kernel.root}]
    if not kernels:
        raise Rejected(
            "is no hierarchy of cgroups that can freeze" if chosen else "has no cgroups to freeze",
            field="--hierarchy" if chosen else "",
            value=str(chosen) if chosen else "this machine",
            hint="mount the freezer controller (cgroup v1) or cgroup2",
        )
    first = min(kernels, key=lambda kernel: isinstance(kernel, Version2))
    return Hierarchies(guarded=first, roots=tuple(sorted(roots)))
