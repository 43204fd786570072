"""The contract suites run against real servers too."""

from tests.etcd_servers import etcd_binary, etcd_client, etcd_server, keys

__all__ = ["etcd_binary", "etcd_client", "etcd_server", "keys"]
