"""The log on a real etcd keeps the contract of the event log."""

import pytest

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from tests.contracts.etcd_world import EtcdWorld
from tests.contracts.log_contract import LogContract


@pytest.mark.etcd
class TestEtcdLog(LogContract):
    """Against a real server."""

    @pytest.fixture
    def world(self, etcd_client: EtcdClient, keys: Keys) -> EtcdWorld:
        """A new log."""
        return EtcdWorld.on(etcd_client, keys)
