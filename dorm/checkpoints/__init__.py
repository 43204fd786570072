"""Checkpoints on real disks: set apart, checked, copied, removed. See `dorm.ports.checkpoints`.

Containers write into the directories of their generations at any time, so nothing here follows a
symbolic link, opens anything but regular files, or reads without a limit; and what was set apart
is a copy, which no container can reach.
"""

from dorm.checkpoints.system import SystemCheckpoints

__all__ = ["SystemCheckpoints"]
