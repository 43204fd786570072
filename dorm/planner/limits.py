"""What the child takes upon itself before it reads anything: limits, and humility.

The kernel keeps these limits. They hold inside of the solver too, where no Python runs.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Final

EXIT_MEMORY: Final = 71  # of a child that could not have the memory it wanted

_PR_SET_PDEATHSIG: Final = 1
_OOM_SCORE_ADJ: Final = "500"  # of 1,000: the system, short of memory, ends us before the master


def apply(*, parent_pid: int, memory_bytes_max: int, niceness: int) -> None:
    """Bind this process: its memory, its priority, and its life to that of its parent."""
    _die_with(parent_pid)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes_max, memory_bytes_max))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(niceness)
    if sys.platform == "linux":
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE_ADJ)


def allow_cpu_s(seconds: int) -> None:
    """Let this process use so much more CPU time; past that the kernel sends SIGXCPU.

    Counted, not timed: a busy machine makes a plan later, never another one.
    """
    wanted = int(time.process_time()) + 1 + seconds
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def rss_bytes() -> int:
    """Return the resident memory of this process now; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[1]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _die_with(parent_pid: int) -> None:
    """Have the kernel end this process when its parent ends, however that comes about."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # It ended before the call.
        sys.exit(0)
