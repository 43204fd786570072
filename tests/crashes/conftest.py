"""What real processes need: a node of its own for each test, and one etcd for the masters."""

from tests.docker.conftest import desk, etcd
from tests.etcd_servers import etcd_binary, etcd_server
from tests.planner.conftest import new_planner

__all__ = ["desk", "etcd", "etcd_binary", "etcd_server", "new_planner"]
