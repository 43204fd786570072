"""These tests are about real servers."""

from tests.etcd_servers import etcd_binary, etcd_client, etcd_server, keys, three_members

__all__ = ["etcd_binary", "etcd_client", "etcd_server", "keys", "three_members"]
