"""The history as it stands in a real etcd."""

import asyncio
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from dorm.cli.events import cli
from dorm.etcd import connect
from dorm.history.source import EtcdSource
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from events.catalog import Event
from events.errors import NotFound
from tests.builders import BY_TEST, a_node, an_app
from tests.etcd_servers import etcd_binary, etcd_server

__all__ = ["etcd_binary", "etcd_server"]

pytestmark = pytest.mark.etcd


def a_cluster(etcd: EtcdCluster, *events: Event) -> str:
    """Return the name of a new cluster with this history."""
    name = f"test-{uuid4().hex[:8]}"

    async def write() -> None:
        client = connect(etcd.endpoints)
        log = EtcdLog(client, Keys(name), producer="writer")
        await log.bootstrap()
        for event in events:
            await log.append([event], stamp=BY_TEST)
        await client.close()

    asyncio.run(write())
    return name


def run(etcd: EtcdCluster, cluster: str, *args: str) -> Result:
    """Run `dorm-events` against the cluster."""
    where = ["--etcd", ",".join(etcd.endpoints), "--cluster", cluster]
    return CliRunner().invoke(cli, [*args, *where], env={"NO_COLOR": "1"})


def test_an_export_tells_the_same_as_etcd(
    etcd_server: EtcdCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A history must not depend on where it is read from."""
    cluster = a_cluster(etcd_server, a_node(), an_app("a"), an_app("b"))
    file = str(tmp_path_factory.mktemp("export") / "h.jsonl.zst")

    assert run(etcd_server, cluster, "export", file).exit_code == 0

    live = run(etcd_server, cluster, "replay")
    exported = CliRunner().invoke(cli, ["replay", "--file", file], env={"NO_COLOR": "1"})
    assert live.exit_code == 0
    assert live.stdout == exported.stdout
    assert run(etcd_server, cluster, "verify").exit_code == 0


def test_a_follower_is_given_what_is_new(etcd_server: EtcdCluster) -> None:
    """From the first event on, without a gap."""
    cluster = a_cluster(etcd_server, a_node(), an_app("a"))
    followed = EtcdSource(etcd_server.endpoints, cluster).events(follow=True)

    kinds = [type(next(followed).event).__name__ for _ in range(2)]
    del followed

    assert kinds == ["NodeReported", "AppSubmitted"]


def test_a_mistyped_name_is_told_and_makes_nothing(etcd_server: EtcdCluster) -> None:
    """A reader that writes would leave an empty cluster behind for each typing mistake."""
    with pytest.raises(NotFound, match="has no events in this etcd"):
        next(EtcdSource(etcd_server.endpoints, "no-such").events())

    async def keys() -> int:
        client = connect(etcd_server.endpoints)
        found = await client.range("/dorm/no-such/")
        await client.close()
        return len(found.items)

    assert asyncio.run(keys()) == 0
