"""What the tests on a real engine share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dorm.local.etcd_process import EtcdCluster
from tests.docker.agents import Node
from tests.docker.engines import Desk
from tests.etcd_servers import etcd_binary

__all__ = ["etcd_binary"]


@pytest.fixture
def desk(docker_url: str, demo_image: str) -> Iterator[Desk]:
    """One test's share of the engine."""
    desk = Desk(docker_url, demo_image)
    yield desk
    desk.clean_up()


@pytest.fixture
def etcd(etcd_binary: Path, tmp_path: Path) -> Iterator[EtcdCluster]:
    """A member of etcd that a test may stop."""
    cluster = EtcdCluster.start(etcd_binary, data_dir=tmp_path / "etcd", fsync=False)
    yield cluster
    cluster.stop()


@pytest.fixture
def node(desk: Desk, etcd: EtcdCluster, tmp_path: Path) -> Iterator[Node]:
    """A node with a running agent."""
    node = Node(desk, etcd, tmp_path)
    node.start()
    yield node
    node.stop()
