"""Fixtures that start real etcd servers; a `conftest.py` that wants them imports them."""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from dorm.etcd import EtcdClient, connect
from dorm.keys import Keys
from dorm.local.binaries import find_etcd
from dorm.local.etcd_process import EtcdCluster

__all__ = ["etcd_binary", "etcd_client", "etcd_server", "keys", "three_members"]


def find_binary() -> Path:
    """Return the etcd to test with: the one named, on PATH, or fetched before."""
    found = os.environ.get("DORM_ETCD_BIN") or shutil.which("etcd")
    return Path(found) if found else find_etcd().path


@pytest.fixture(scope="session")
def etcd_binary() -> Path:
    """The etcd of this test run."""
    return find_binary()


@pytest.fixture(scope="session")
def etcd_server(
    etcd_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EtcdCluster]:
    """One member, shared by all tests: each takes keys of its own."""
    cluster = EtcdCluster.start(etcd_binary, data_dir=tmp_path_factory.mktemp("etcd"), fsync=False)
    yield cluster
    cluster.stop()


@pytest.fixture
def three_members(etcd_binary: Path, tmp_path: Path) -> Iterator[EtcdCluster]:
    """A cluster of three, for one test that may do to it what it likes."""
    cluster = EtcdCluster.start(etcd_binary, data_dir=tmp_path / "etcd", size=3, fsync=False)
    yield cluster
    cluster.stop()


@pytest.fixture
async def etcd_client(etcd_server: EtcdCluster) -> AsyncIterator[EtcdClient]:
    """A client of the shared member."""
    client = connect(etcd_server.endpoints)
    yield client
    await client.close()


@pytest.fixture
def keys() -> Keys:
    """The keys of a Dorm cluster that nobody else uses."""
    return Keys(f"test-{uuid4().hex[:12]}")
