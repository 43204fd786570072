"""Where a history comes from."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import attrs

from dorm import etcd
from dorm.files import SystemFiles
from dorm.history.files import cluster_of, read_file
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.space.archive import Archive
from events.errors import Archived, NotFound
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
    """A history in etcd, and in the archive of what left etcd. It is only read.

    Attributes:
        archive: The directory that the masters have as `--archive`; without it, only a history
            that is still all in etcd can be read.
    """

    endpoints: Sequence[str]
    cluster: str
    archive: str = ""

    def events(self, *, follow: bool = False) -> Iterator[Recorded]:
        """See `Source`."""
        with asyncio.Runner() as runner:
            connection = runner.run(_Connection.open(self.endpoints, self.cluster))
            try:
                after = segment = 0
                while True:  # Ends at the end of the log, or with the reader when it follows.
                    try:
                        page = runner.run(connection.read(after))
                    except Archived as gone:
                        # Read one by one: together they may be more than fits into memory.
                        for number in range(segment, gone.segment):
                            found = runner.run(self._archived(number))
                            yield from (one for one in found if one.revision > after)
                        after, segment = gone.revision, gone.segment
                        continue
                    yield from page.recorded
                    after = page.through
                    segment = page.recorded[-1].segment if page.recorded else segment
                    if page.at_end and not follow:
                        return
                    if page.at_end:
                        runner.run(asyncio.sleep(POLL_S))
            finally:
                runner.run(connection.close())

    async def _archived(self, segment: int) -> tuple[Recorded, ...]:
        if not self.archive:
            raise NotFound(
                f"has left etcd: the history of cluster {self.cluster} begins in the archive",
                field="segment",
                value=str(segment),
                hint="name the directory that the masters have as --archive, with --archive DIR",
            )
        return await Archive(SystemFiles(), self.archive, cluster=self.cluster).read(segment)


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
