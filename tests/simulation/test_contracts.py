"""The etcd of the simulation keeps the contracts that the real one keeps.

A simulation on another etcd than the real one would prove nothing.
"""

import pytest

from dorm.keys import Keys
from dorm.ports.etcd import Etcd
from tests.contracts.etcd_contract import EtcdContract
from tests.contracts.etcd_world import EtcdWorld
from tests.contracts.log_contract import LogContract
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.process import Process


@pytest.fixture
def etcd_port() -> Etcd:
    """A client without faults on a store of its own."""
    return SimEtcdClient(EtcdStore(), Process("test", 1), NetworkFaults())


class TestSimEtcd(EtcdContract):
    """The stand-in is etcd."""


class TestLogOnSimEtcd(LogContract):
    """The log is the same on it."""

    @pytest.fixture
    def world(self, etcd_port: Etcd) -> EtcdWorld:
        """A new log."""
        return EtcdWorld.on(etcd_port, Keys("sim"))
