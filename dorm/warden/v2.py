"""Cgroups of version 2. Frozen processes can be killed, and nothing of them runs for it."""

from pathlib import Path

from dorm.warden import groups


class Version2:
    """See `dorm.warden.groups.Kernel`."""

    name = "cgroup v2"

    def __init__(self, root: Path) -> None:
        """Take the mount of the hierarchy."""
        self.root = root

    def is_told_to_freeze(self, group: Path) -> bool:
        """See `Kernel`."""
        return groups.read(group / "cgroup.freeze").strip() == "1"

    def is_frozen(self, group: Path) -> bool:
        """See `Kernel`."""
        return "frozen 1" in groups.read(group / "cgroup.events").splitlines()

    def freeze(self, group: Path) -> None:
        """See `Kernel`."""
        groups.write(group / "cgroup.freeze", "1")

    def thaw(self, group: Path) -> None:
        """See `Kernel`."""
        groups.write(group / "cgroup.freeze", "0")

    def is_populated(self, group: Path) -> bool:
        """See `Kernel`."""
        return "populated 1" in groups.read(group / "cgroup.events").splitlines()

    def kill(self, group: Path) -> None:
        """See `Kernel`. In one stroke where the kernel can (Linux 5.14)."""
        try:
            groups.write(group / "cgroup.kill", "1")
        except FileNotFoundError:
            for pid in groups.processes(group):
                groups.kill(pid)
