"""These tests run on a real server behind a network that loses what the test says."""

import pytest

from dorm.clock import SystemRandomness
from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from tests.etcd_servers import etcd_binary, etcd_client, etcd_server, keys
from tests.log.lossy import LossyEtcd

__all__ = ["etcd_binary", "etcd_client", "etcd_server", "keys"]


@pytest.fixture
def lossy(etcd_client: EtcdClient) -> LossyEtcd:
    """The connection of the process under test."""
    return LossyEtcd(etcd_client)


@pytest.fixture
async def log(lossy: LossyEtcd, keys: Keys) -> EtcdLog:
    """The process under test, as a writer. The next write is that of the test."""
    log = EtcdLog(lossy, keys, producer=f"m1-{SystemRandomness().token(8)}")
    await log.bootstrap()
    return log


@pytest.fixture
def other(etcd_client: EtcdClient, keys: Keys) -> EtcdLog:
    """Another process, in good health."""
    return EtcdLog(etcd_client, keys, producer=f"m2-{SystemRandomness().token(8)}")
