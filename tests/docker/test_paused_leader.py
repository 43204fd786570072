"""A leader that was paused past its lease, in real processes: it wakes up and changes nothing."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from dorm.api.client import ApiClient
from dorm.local.binaries import find_etcd
from dorm.local.cluster import LocalCluster, Shape, running
from events.errors import DormError

WAIT_S: Final = 30.0
LOOP: Final = "[sh, -c, \"trap 'exit 0' TERM; while :; do sleep 0.1; done\"]"


def spec(name: str, image: str) -> str:
    """Return an application that runs until it is stopped."""
    return (
        f"name: {name}\nimage: {image}\nrun: {{start: {LOOP}}}\n"
        "resources: {cpu: 0.1, memory: 32MiB}\nscale: {min: 1, max: 1}\n"
    )


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    ends_at = time.monotonic() + WAIT_S
    while time.monotonic() < ends_at:
        with contextlib.suppress(DormError):
            if holds():
                return
        time.sleep(0.1)
    pytest.fail(f"after {WAIT_S:g} s still not: {what}")


def leads(cluster: LocalCluster, name: str) -> bool:
    """Return whether the master of that name says that it leads."""
    with contextlib.closing(cluster.client(name)) as client:
        return bool(client.status()["is_leader"])


@pytest.mark.docker
@pytest.mark.etcd
def test_a_paused_leader_wakes_up_and_changes_nothing(
    docker_url: str, demo_image: str, tmp_path: Path
) -> None:
    """Paused past its lease while another leads and works: one history, no restart."""
    shape = Shape(cluster=f"test-{uuid4().hex[:8]}", masters=2, nodes=1, cpus=1)
    home = tmp_path / "cluster"
    with running(shape, home=home, docker_url=docker_url, etcd=find_etcd()) as cluster:
        old, new = ("m1", "m2") if leads(cluster, "m1") else ("m2", "m1")
        with contextlib.closing(cluster.client(new)) as client:
            first = client.submit(spec("first", demo_image), key="first")["id"]
            until(lambda: running_now(client, first), "the first application runs")
            before = cluster.docker.started_at(cluster.label)

            cluster.masters[old].freeze()
            second = client.submit(spec("second", demo_image), key="second")["id"]
            until(lambda: leads(cluster, new), f"{new} leads")
            until(lambda: running_now(client, second), "the second application runs")
            cluster.masters[old].thaw()
            until(lambda: same_state(cluster), "both masters have the same state")
            time.sleep(2)  # The woken one may try whatever it had in its hands.

            assert leads(cluster, new)
            assert not leads(cluster, old)
            assert same_state(cluster)
            after = cluster.docker.started_at(cluster.label)
            assert before == {name: after.get(name) for name in before}
            assert client.status()["ignored"] == {}


def running_now(client: ApiClient, app_id: str) -> bool:
    """Return whether the application's containers run."""
    return bool(client.app(app_id)["phase"] == "running")


def same_state(cluster: LocalCluster) -> bool:
    """Return whether all masters have folded the same history."""
    seen = set()
    for name in cluster.masters:
        with contextlib.closing(cluster.client(name)) as client:
            status = client.status()
            seen.add((status["revision"], status["state_hash"], status["leader"]))
    return len(seen) == 1
