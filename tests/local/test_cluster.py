"""A whole local cluster comes up, does its work and leaves nothing behind."""

import contextlib
from pathlib import Path
from uuid import uuid4

import pytest

from dorm.local.binaries import find_etcd
from dorm.local.cluster import Shape, running
from dorm.local.docker_api import DockerApi
from dorm.local.images import ensure_demo_image
from events.errors import Unavailable


@pytest.mark.docker
@pytest.mark.etcd
def test_a_cluster_leaves_no_container_network_or_file(docker_url: str, tmp_path: Path) -> None:
    """`dorm dev`, the demo and these tests share one engine with other people's containers."""
    shape = Shape(cluster=f"test-{uuid4().hex[:8]}", nodes=2, cpus=0.5)
    home = tmp_path / "cluster"

    with running(shape, home=home, docker_url=docker_url, etcd=find_etcd()) as cluster:
        with contextlib.closing(cluster.client()) as client:
            assert [node["state"] for node in client.nodes()] == ["ready", "ready"]
        children = cluster.children

    assert not any(child.running for child in children)
    assert not home.exists()
    with contextlib.closing(DockerApi(docker_url)) as docker:
        assert docker.remove_containers(cluster.label) == 0
        assert docker.started_at(cluster.label) == {}


@pytest.mark.docker
@pytest.mark.etcd
def test_a_cluster_that_cannot_start_says_why(docker_url: str, tmp_path: Path) -> None:
    """The last words of the process that ended are in the message, and the rest is stopped."""
    shape = Shape(cluster=f"test-{uuid4().hex[:8]}", nodes=1, cpus=-1.0)
    cluster = running(shape, home=tmp_path / "cluster", docker_url=docker_url, etcd=find_etcd())

    with pytest.raises(Unavailable, match=r"(?s)n1 ended at once.*cpus"), cluster:
        pass


@pytest.mark.docker
def test_an_image_that_is_built_is_not_built_again(demo_image: str, docker_url: str) -> None:
    """Every make target asks for the image; only the first may take a minute."""
    said: list[str] = []

    assert ensure_demo_image(docker_url, say=said.append) == demo_image
    assert said == []
