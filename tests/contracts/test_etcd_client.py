"""The real client keeps the contract of the `Etcd` port."""

import pytest

from dorm.etcd import EtcdClient
from dorm.ports.etcd import Etcd
from tests.contracts.etcd_contract import EtcdContract


@pytest.mark.etcd
class TestEtcdClient(EtcdContract):
    """Against a real server."""

    @pytest.fixture
    def etcd_port(self, etcd_client: EtcdClient) -> Etcd:
        """The client under test."""
        return etcd_client
