"""Cgroups of version 1: the freezer's hierarchy.

Frozen processes do not even die here. To kill them all the group could be thawed after SIGKILL, and
for that moment whatever an engine puts there just then would run. So the group stays frozen, and
each process is moved out, once SIGKILL waits for it, to a group that is not: there it wakes, and
dies before it executes anything of its own.
"""

from pathlib import Path
from typing import Final

from dorm.warden import groups

DYING: Final = "dying"
"""The name of the group, beside those of containers, to which killed processes are moved."""


class Version1:
    """See `dorm.warden.groups.Kernel`."""

    name = "cgroup v1"

    def __init__(self, root: Path) -> None:
        """Take the mount of the freezer's hierarchy."""
        self.root = root

    def is_told_to_freeze(self, group: Path) -> bool:
        """See `Kernel`."""
        return groups.read(group / "freezer.self_freezing").strip() == "1"

    def is_frozen(self, group: Path) -> bool:
        """See `Kernel`."""
        return groups.read(group / "freezer.state").strip() == "FROZEN"

    def freeze(self, group: Path) -> None:
        """See `Kernel`."""
        groups.write(group / "freezer.state", "FROZEN")

    def thaw(self, group: Path) -> None:
        """See `Kernel`."""
        groups.write(group / "freezer.state", "THAWED")

    def is_populated(self, group: Path) -> bool:
        """See `Kernel`."""
        return bool(groups.processes(group))

    def kill(self, group: Path) -> None:
        """See `Kernel`. The group is frozen."""
        dying = group.parent / DYING
        dying.mkdir(exist_ok=True)
        for pid in groups.processes(group):
            if groups.kill(pid):
                groups.join(dying, pid)
