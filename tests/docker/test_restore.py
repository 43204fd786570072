"""An old backup of etcd is restored under running containers, with real processes throughout."""

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

import docker
import pytest

from dorm.api.client import ApiClient, Refused
from dorm.local.binaries import find_etcd
from dorm.local.cluster import LocalCluster, Shape, running
from events.errors import DormError

WAIT_S: Final = 60.0
QUIET_S: Final = 8.0
LOOP: Final = "[sh, -c, \"trap 'exit 0' TERM; while :; do sleep 0.1; done\"]"


def spec(name: str, image: str) -> str:
    """Return an application that runs until it is stopped."""
    return (
        f"name: {name}\nimage: {image}\nrun: {{start: {LOOP}}}\n"
        "resources: {cpu: 0.1, memory: 32MiB}\nscale: {min: 1, max: 1}\n"
    )


def until(holds: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait until something holds."""
    ends_at = time.monotonic() + WAIT_S
    while time.monotonic() < ends_at:
        with contextlib.suppress(DormError):
            if holds():
                return
        time.sleep(0.2)
    pytest.fail(f"after {WAIT_S:g} s still: {what()}")


def swap(cluster: LocalCluster, *, source: Path, target: Path) -> None:
    """Copy etcd's data while it does not run: what a stopped member left is a backup, too."""
    assert cluster._etcd is not None
    (member,) = cluster._etcd.members
    member.kill()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    member.restart()
    cluster._etcd.wait_until_healthy()


def running_now(client: ApiClient, app_id: str) -> bool:
    """Return whether the application's containers run."""
    return bool(client.app(app_id)["phase"] == "running")


def processes(cluster: LocalCluster) -> dict[str, int]:
    """Return the process id of each container that runs, by name."""
    with contextlib.closing(docker.DockerClient(base_url=cluster.docker.url)) as engine:
        found = engine.containers.list(filters={"label": cluster.label})
        return {str(one.name): one.attrs["State"]["Pid"] for one in found}


@pytest.mark.docker
@pytest.mark.etcd
def test_a_restored_backup_freezes_the_cluster_until_a_new_epoch(
    docker_url: str, demo_image: str, tmp_path: Path
) -> None:
    """The process ids stay, nothing starts; then what the backup knows stays, and the rest goes."""
    shape = Shape(cluster=f"test-{uuid4().hex[:8]}", nodes=1, cpus=1)
    home, backup = tmp_path / "cluster", tmp_path / "backup"
    with (
        running(shape, home=home, docker_url=docker_url, etcd=find_etcd()) as cluster,
        contextlib.closing(cluster.client()) as client,
    ):
        data = home / "etcd" / "n0"
        first = client.submit(spec("first", demo_image), key="first")["id"]
        until(lambda: running_now(client, first), lambda: client.why(first))
        swap(cluster, source=data, target=backup)
        until(lambda: not client.status()["hold"], client.status)
        second = str(client.submit(spec("second", demo_image), key="second")["id"])
        until(lambda: running_now(client, second), lambda: client.why(second))
        before = processes(cluster)
        assert 2 == len(before)

        swap(cluster, source=backup, target=data)
        until(
            lambda: {"node/n1", "master/m1"} == {a["witness"] for a in client.status()["alarms"]},
            client.status,
        )
        time.sleep(QUIET_S)

        assert before == processes(cluster)
        assert client.status()["hold"]
        with pytest.raises(Refused, match="holds"):
            client.submit(spec("third", demo_image), key="third")
        assert all(child.running for child in cluster.children)

        cluster.agents["n1"].kill()
        cluster.agents["n1"].restart()
        time.sleep(QUIET_S)
        assert before == processes(cluster)

        assert 2 == client.new_epoch(after=1)["epoch"]
        until(lambda: not (client.status()["hold"] or client.status()["unsettled"]), client.status)
        until(lambda: len(processes(cluster)) == 1, lambda: processes(cluster))
        ((name, pid),) = processes(cluster).items()
        assert name.startswith(first)
        assert before[name] == pid
        third = client.submit(spec("third", demo_image), key="third")["id"]
        until(lambda: running_now(client, third), lambda: client.why(third))
        assert before[name] == processes(cluster)[name]
