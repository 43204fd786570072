"""etcd, by way of the `etcd3` package: the only code that imports it, or grpc, or protobuf.

`etcd3` 0.12.0 gives the messages, the stubs and the request builders of etcd's API. Its defects are
repaired here: it does not import on a modern protobuf (`schema`), ignores `limit` (`requests`),
waits for ever on a frozen server and knows one endpoint only (`channels`), and lets watches die in
silence (`watch`). Each repair has a test in `tests/etcd` that fails without it.
"""

from dorm.etcd.client import EtcdClient, connect

__all__ = ["EtcdClient", "connect"]
