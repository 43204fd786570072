"""One container's life, with an agent that is killed at each step of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dorm.local.etcd_process import EtcdCluster
from events.apps import Mount
from events.catalog import Event
from events.generations import ContainerExited
from tests.crashes.points import OF_A_REMOVAL, OF_A_START, OF_AN_END
from tests.docker.agents import Node
from tests.docker.engines import Desk

pytestmark = [pytest.mark.docker, pytest.mark.etcd]


@pytest.fixture
def node(desk: Desk, etcd: EtcdCluster, tmp_path: Path) -> Iterator[Node]:
    """A node without an agent."""
    node = Node(desk, etcd, tmp_path)
    yield node
    node.kill()


async def test_a_container_starts_once_and_ends_once_whenever_the_agent_dies(node: Node) -> None:
    """Ten agents die in turn, each one step further on, and the eleventh finds all done."""
    script = (
        "echo started >> /scratch/starts; until [ -e /scratch/go ]; do sleep 0.1; done; echo output"
    )
    wanted = node.wanted(
        *("sh", "-c", script),
        mounts=(Mount(name="work", target="/scratch"),),
    )
    (node.work / "starts").touch()
    (node.work / "starts").chmod(0o666)
    await node.order(1, wanted)
    for name in OF_A_START:
        node.start(failpoint=f"{name}:kill")
        assert (name, -9) == (name, node.died())
    (node.work / "go").touch()
    for name in OF_AN_END:
        node.start(failpoint=f"{name}:kill")
        assert (name, -9) == (name, node.died())
    await node.order(2)
    for name in OF_A_REMOVAL:
        node.start(failpoint=f"{name}:exit")
        assert (name, 70) == (name, node.died())

    told = len(await node.events())
    node.start()
    await node.until(lambda events: len(events) > told and not node.desk.names())

    assert (node.work / "starts").read_text() == "started\n"
    assert {(one.reason, one.exit_code) for one in exits(await node.events())} == {("exited", 0)}
    assert (await node.output(wanted)).text == "output\n"


def exits(events: list[Event]) -> list[ContainerExited]:
    """Return the reports of an end; a crash may send one twice, which the fold ignores."""
    return [event for event in events if isinstance(event, ContainerExited)]
