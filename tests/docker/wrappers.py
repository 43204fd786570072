"""Fake process trees below a fake `/proc`: who is whose child, and who handles SIGTERM."""

import signal
from pathlib import Path

BIT = 1 << (signal.SIGTERM - 1)


def process(
    proc: Path, pid: int, parent: int, called: str, *, catches: bool = False, state: str = "S"
) -> None:
    """Add a process, called as its command line begins."""
    home = proc / str(pid)
    home.mkdir()
    name = called.rpartition("/")[2]
    (home / "stat").write_text(f"{pid} ({name}) {state} {parent} {pid} 0\n")
    (home / "cmdline").write_bytes(called.encode() + b"\0-c\0anything\0")
    caught = BIT if catches else 0
    (home / "status").write_text(f"Name:\t{name}\nSigBlk:\t{0:016x}\nSigCgt:\t{caught:016x}\n")
