"""Where a history comes from."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import attrs

from dorm import etcd
from dorm.history.files import cluster_of, read_file
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from events.errors import NotFound
from events.log import Page
from events.recorded import Recorded

POLL_S: Final = 0.5
READER: Final = "reader"  # never written under: a reader appends nothing


class Source(Protocol):
    """A history, and the name of the cluster whose it is."""

    @property
    def cluster(self) -> str:
        """Return the cluster's name."""
        ...

    def events(self, *, follow: bool = False) -> Iterator[Recorded]:
        """Yield all events in the order of the log; with `follow`, wait for new ones for ever.

        Raises:
            Corrupt: What is stored is no event.
            Unavailable: It cannot be read.
            NotFound: There is no such history.
        """
        ...


@attrs.frozen
class FileSource:
    """A history that was exported to a file. It has no new events, so it ends with `follow` too."""

    path: str

    @property
    def cluster(self) -> str:
        """See `Source`."""
        return cluster_of(self.path)

    def events(self, *, follow: bool = False) -> Iterator[Recorded]:
        """See `Source`."""
        del follow
        return read_file(self.path)


@attrs.frozen
class EtcdSource:
    """A history in etcd. It is only read; nothing is ever written."""

    endpoints: Sequence[str]
    cluster: str

    def events(self, *, follow: bool = False) -> Iterator[Recorded]:
        """See `Source`."""
        with asyncio.Runner() as runner:
            connection = runner.run(_Connection.open(self.endpoints, self.cluster))
            try:
                after = 0
                while True:  # Ends at the end of the log, or with the reader when it follows.
                    page = runner.run(connection.read(after))
                    yield from page.recorded
                    after = page.through
                    if page.at_end and not follow:
                        return
                    if page.at_end:
                        runner.run(asyncio.sleep(POLL_S))
            finally:
                runner.run(connection.close())


@attrs.frozen
class _Connection:
    """A client of etcd, which lives in one event loop."""

    client: etcd.EtcdClient
    log: EtcdLog

    @classmethod
    async def open(cls, endpoints: Sequence[str], cluster: str) -> "_Connection":
        client, keys = etcd.connect(endpoints), Keys(cluster)
        # Asked first, because the log makes its first segment where there is none.
        if await client.get(keys.segment_now) is None:
            await client.close()
            raise NotFound(
                "has no events in this etcd",
                field="cluster",
                value=cluster,
                hint="name it with --cluster, and its etcd with --etcd",
            )
        return cls(client, EtcdLog(client, keys, producer=READER))

    async def read(self, after: int) -> Page:
        return await self.log.read(after=after)

    async def close(self) -> None:
        await self.client.close()
