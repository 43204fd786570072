"""The stubs of `etcd3` on an asyncio channel."""

from typing import Any

from dorm.etcd import schema

schema.install()

import etcd3  # noqa: E402 - only imports once its schema is installed
from etcd3 import etcdrpc  # noqa: E402 - as above

__all__ = ["Stubs", "etcd3", "etcdrpc"]


class Stubs:
    """The services of one member that Dorm uses."""

    def __init__(self, channel: Any) -> None:  # noqa: ANN401 - grpc.aio.Channel
        self.kv = etcdrpc.KVStub(channel)
        self.lease = etcdrpc.LeaseStub(channel)
        self.watch = etcdrpc.WatchStub(channel)
        self.cluster = etcdrpc.ClusterStub(channel)
        self.maintenance = etcdrpc.MaintenanceStub(channel)
