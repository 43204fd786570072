"""Two of three members freeze: a real master answers, marked as stale, and refuses writes."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from dorm.local.etcd_process import HOST, EtcdCluster, free_ports
from dorm.local.processes import Child

pytestmark = pytest.mark.etcd

SPEC = (
    "name: a\nimage: i\nrun: {start: [x]}\n"
    "resources: {cpu: 1, memory: 1GiB}\nscale: {min: 1, max: 1}\n"
)
UP_S = 45.0  # of a whole Python process, on a machine that is busy with other tests


@pytest.fixture
def master(three_members: EtcdCluster, tmp_path: Path) -> Iterator[str]:
    """The address of a master."""
    (port,) = free_ports(1)
    command = [
        *(sys.executable, "-m", "dorm", "master", "--name", "m1", "--listen", f"{HOST}:{port}"),
        *("--cluster", f"test-{uuid4().hex[:8]}", "--etcd", ",".join(three_members.endpoints)),
    ]
    child = Child("m1", command, log_path=tmp_path / "m1.log")
    yield f"http://{HOST}:{port}"
    child.stop()


def test_without_quorum_reads_are_marked_and_writes_refused(
    master: str, three_members: EtcdCluster
) -> None:
    """And the write whose outcome was unknown happens once."""
    with httpx.Client(base_url=master, trust_env=False, timeout=30) as http:
        until(http, lambda: http.get("/readyz").status_code == 200)
        until(http, lambda: submit(http, "first").status_code in {200, 201})
        for member in three_members.members[:2]:
            member.freeze()
        asked_at = time.monotonic()
        refused = submit(http, "second")
        waited_s = time.monotonic() - asked_at
        until(http, lambda: http.get("/readyz").status_code == 503)
        read, lives = http.get("/v1/apps"), http.get("/healthz")
        asked_at = time.monotonic()
        at_once = submit(http, "third")
        at_once_s = time.monotonic() - asked_at
        for member in three_members.members[:2]:
            member.thaw()
        until(http, lambda: submit(http, "second").status_code in {200, 201})

        assert (503, "unknown") == (refused.status_code, refused.json()["error"]["written"])
        assert "Retry-After" in refused.headers
        assert waited_s < 8  # 3 s, on an idle machine
        assert (503, "no") == (at_once.status_code, at_once.json()["error"]["written"])
        assert at_once_s < 3
        assert (200, 200) == (read.status_code, lives.status_code)
        assert read.json()["freshness"]["stale"]
        assert float(read.headers["Dorm-Stale"]) > 0
        assert 1 == len(read.json()["apps"])
        assert 2 == len(http.get("/v1/apps").json()["apps"])


def submit(http: httpx.Client, key: str) -> httpx.Response:
    """Submit an application."""
    headers = {"Idempotency-Key": key, "Content-Type": "application/yaml"}
    return http.post("/v1/apps", content=SPEC, headers=headers)


def until(http: httpx.Client, holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    ends_at = time.monotonic() + UP_S
    while True:  # Ends at the limit.
        try:
            if holds():
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < ends_at, http.base_url
        time.sleep(0.2)
