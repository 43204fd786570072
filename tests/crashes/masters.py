"""One master as a process, on a log of its own."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from dorm import failpoints
from dorm.api.client import ApiClient
from dorm.local.etcd_process import HOST, EtcdCluster, free_ports

UP_S = 45.0  # of a whole Python process, on a machine that is busy with other tests


class Master:
    """A master that is started again and again, on the same address and the same log."""

    def __init__(self, etcd: EtcdCluster, tmp_path: Path) -> None:
        """Choose an address and a cluster; nothing is started yet."""
        (self._port,) = free_ports(1)
        self._etcd, self._output = etcd, tmp_path / "master.log"
        self._cluster = f"test-{uuid4().hex[:12]}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, failpoint: str = "") -> None:
        """Start it, to fail where `failpoint` says."""
        command = (
            *(sys.executable, "-m", "dorm", "master", "--name", "m1", "--lease-ttl", "2"),
            *("--listen", f"{HOST}:{self._port}", "--cluster", self._cluster),
            *("--etcd", ",".join(self._etcd.endpoints)),
        )
        environment = {**os.environ, failpoints.VARIABLE: failpoint}
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)

    def died(self) -> int:
        """Wait until it has died by itself; return its exit code."""
        assert self._process is not None
        try:
            return self._process.wait(UP_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"the master lives: {self._output.read_text()[-3000:]}")

    def until_it_leads(self) -> None:
        """Wait until it is up and in office."""
        ends_at = time.monotonic() + UP_S
        with contextlib.closing(self.client(give_up_s=UP_S)) as client:
            while not client.status()["is_leader"]:
                assert time.monotonic() < ends_at, self._output.read_text()[-3000:]
                time.sleep(0.1)

    def client(self, *, give_up_s: float = 1.0) -> ApiClient:
        """Return a client that gives up soon: the master may be dead."""
        return ApiClient([f"http://{HOST}:{self._port}"], user="ann", give_up_s=give_up_s)

    def end(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
