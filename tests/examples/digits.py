"""Generations of the digits training as local processes, one for each rank."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import attrs

from dorm.local.etcd_process import free_ports
from dorm.local.places import checkout

PROGRAM: Final = (checkout() or Path()) / "deploy/examples/digits/train.py"
END_S: Final = 40.0


@attrs.define
class Generation:
    """All ranks of one generation."""

    port: int
    processes: list[subprocess.Popen[str]] = attrs.field(factory=list)
    run_dirs: list[Path] = attrs.field(factory=list)

    @classmethod
    def start(
        cls, home: Path, digits: Path, *, size: int, number: int = 1, **settings: float
    ) -> Self:
        """Start `size` ranks that keep their checkpoints in `home`."""
        (port,) = free_ports(1)
        generation = cls(port)
        for rank in range(size):
            run_dir = home / f"run-g{number}-w{rank}"
            run_dir.mkdir(parents=True)
            generation.run_dirs.append(run_dir)
            generation.processes.append(
                _start_rank(
                    {
                        "DORM_RANK": str(rank),
                        "DORM_WORLD_SIZE": str(size),
                        "DORM_GENERATION": str(number),
                        "DORM_RESUME": "1" if number > 1 else "0",
                        "DORM_MASTER_ADDR": "127.0.0.1",
                        "DORM_MASTER_PORT": str(port),
                        "DORM_CHECKPOINT_DIR": str(home / "ckpt"),
                        "DORM_PROGRESS_FILE": str(run_dir / "progress.json"),
                        "DATA": str(digits),
                        **{name.upper(): str(value) for name, value in settings.items()},
                    }
                )
            )
        return generation

    def wait_until_listening(self) -> None:
        """Wait until rank 0 waits for its peers."""
        ends_at = time.monotonic() + END_S
        while time.monotonic() < ends_at:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.05)
        raise AssertionError("rank 0 does not listen")

    def wait_for_step(self, step: int) -> None:
        """Read rank 0's output until it has reached that step."""
        output = self.processes[0].stdout
        assert output is not None
        for line in output:
            if int(re.findall(r"step=(\d+)", line)[0]) >= step:
                return
        raise AssertionError(f"the training ended before step {step}")

    def terminate(self) -> None:
        """Tell every rank to stop, as an agent does."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)

    def ends(self) -> list[int]:
        """Wait for every rank and return the exit codes."""
        try:
            return [process.wait(END_S) for process in self.processes]
        finally:
            for process in self.processes:
                process.kill()
                process.communicate()

    def progress(self) -> dict[str, Any]:
        """Return what rank 0 told last."""
        progress: dict[str, Any] = json.loads((self.run_dirs[0] / "progress.json").read_bytes())
        return progress


def manifest(home: Path) -> dict[str, Any]:
    """Return what the newest checkpoint says of itself."""
    content: dict[str, Any] = json.loads((home / "ckpt/checkpoint.json").read_bytes())
    return content


def _start_rank(environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, os.fspath(PROGRAM)],
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
