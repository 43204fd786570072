"""`dorm dev` as a user has it: in the foreground, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

READY_S = 90.0
END_S = 60.0


@pytest.fixture
def dev(docker_url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A `dorm dev` with one node, that keeps its things in a place of its own."""
    (tmp_path / "local").mkdir()
    from_setup = Path(os.environ.get("DORM_LOCAL_DIR", ".local")).resolve()
    for kept in ("etcd", "etcd-wheel", "digits.csv.gz"):
        if (from_setup / kept).exists():
            (tmp_path / "local" / kept).symlink_to(from_setup / kept)
    process = subprocess.Popen(
        [sys.executable, "-m", "dorm", "dev", "--nodes", "1", "--cpus", "0.5"],
        env={
            **os.environ,
            "DORM_LOCAL_DIR": str(tmp_path / "local"),
            **({"DOCKER_HOST": docker_url} if docker_url else {}),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    timer = threading.Timer(READY_S, process.kill)
    timer.start()
    yield process
    timer.cancel()
    process.kill()
    process.communicate()


@pytest.mark.docker
@pytest.mark.etcd
def test_it_runs_until_ctrl_c_and_leaves_nothing(
    dev: subprocess.Popen[str], tmp_path: Path
) -> None:
    """It says how to reach the cluster, and everything ends with it."""
    assert dev.stdout is not None
    said = ""
    for line in dev.stdout:
        said += line
        if "Logs of etcd" in line:
            break
    masters = re.findall(r"DORM_MASTERS=(\S+)", said)
    assert masters, said
    assert httpx.get(f"{masters[0]}/v1/status", timeout=5).json()["nodes"]["ready"] == 1

    dev.send_signal(signal.SIGINT)
    rest, _ = dev.communicate(timeout=END_S)

    assert dev.returncode == 0, rest
    assert "Traceback" not in rest
    assert list((tmp_path / "local").glob("dev-*")) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{masters[0]}/v1/status", timeout=5)


@pytest.mark.etcd
def test_without_docker_it_says_how_to_get_it(tmp_path: Path) -> None:
    """Dorm needs an engine, and a newcomer may have none."""
    done = subprocess.run(
        [sys.executable, "-m", "dorm", "dev"],
        env={**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"},
        capture_output=True,
        text=True,
        check=False,
        timeout=END_S,
    )

    assert done.returncode == 1
    assert "dorm dev: no Docker engine answers at DOCKER_HOST=" in done.stderr
    assert "Traceback" not in done.stderr
