"""The agent as a process, with a real etcd and a real engine."""

import json
from http import HTTPStatus

import pytest

from dorm.local.etcd_process import EtcdCluster
from events.catalog import Event
from events.generations import ContainerStarted
from events.nodes import NodeReported
from tests.docker.agents import STOP, WORK, Node

pytestmark = pytest.mark.docker


def has_started(events: list[Event]) -> bool:
    """Return whether some container is reported running."""
    return any(isinstance(event, ContainerStarted) for event in events)


def reports(events: list[Event]) -> list[NodeReported]:
    """Return the agent's descriptions of its node."""
    return [event for event in events if isinstance(event, NodeReported)]


async def test_a_container_is_told_who_it_is_and_keeps_its_output(node: Node) -> None:
    """Membership by environment and file, a checkpoint directory, and output that stays."""
    script = (
        "cat $DORM_MEMBERSHIP_FILE; echo; echo rank $DORM_RANK of $DORM_WORLD_SIZE;"
        "echo '{\"step\": 42}' > $DORM_CHECKPOINT_DIR/checkpoint.json"
    )
    wanted = node.wanted(
        "sh", "-c", script, mounts=(WORK,), checkpoint_path="/scratch/ckpt/a", port=20_007
    )
    await node.order(1, wanted)

    exited = await node.exit_of(wanted)

    assert (exited.reason, exited.exit_code, exited.checkpoint_step) == ("exited", 0, 42)
    before = await node.output(wanted)
    membership, rank = before.text.splitlines()
    assert json.loads(membership)["port"] == 20_007
    assert rank == "rank 0 of 1"
    await node.order(2)
    await node.until(lambda _: not node.desk.names())
    assert (await node.output(wanted)).content == before.content


async def test_a_new_agent_adopts_the_containers_of_a_killed_one(node: Node) -> None:
    """The same container, never restarted: a crash of the agent costs no training step."""
    wanted = node.wanted()
    await node.order(1, wanted)
    await node.until(has_started)
    before = node.desk.inspect(wanted.name)

    node.kill()
    node.start()
    await node.until(lambda events: len(reports(events)) == 2)

    after = node.desk.inspect(wanted.name)
    assert after["Id"] == before["Id"]
    assert after["State"]["StartedAt"] == before["State"]["StartedAt"]
    assert after["State"]["Pid"] == before["State"]["Pid"]


async def test_a_clean_stop_leaves_the_containers_running(node: Node) -> None:
    """An upgrade of the agent is no event for a training."""
    wanted = node.wanted()
    await node.order(1, wanted)
    await node.until(has_started)

    assert node.stop() == 0

    assert node.desk.inspect(wanted.name)["State"]["Running"]
    node.start()


async def test_a_deaf_container_is_killed_when_its_grace_is_over(node: Node) -> None:
    """And the report tells our kill from any other."""
    script = ("sh", "-c", "trap '' TERM; while true; do sleep 0.1; done")
    await node.order(1, node.wanted(*script))
    await node.until(has_started)
    await node.order(2, node.wanted(*script, started=True, stop=STOP))

    exited = await node.exit_of(node.wanted(*script))

    assert (exited.reason, exited.exit_code) == ("killed", 137)


async def test_a_command_that_is_not_there_is_a_start_error(node: Node) -> None:
    """In the words of the one who tried."""
    wanted = node.wanted("/no/such/program")
    await node.order(1, wanted)

    exited = await node.exit_of(wanted)

    assert (exited.reason, exited.final) == ("start_error", True)
    assert "/no/such/program" in exited.message


async def test_an_exit_during_an_outage_of_etcd_is_reported_afterwards(
    node: Node, etcd: EtcdCluster
) -> None:
    """The training ends, the agent dies, etcd is away: the log learns of it all the same.

    Without live-restore nobody can tell such an end from one that the engine brought about.
    """
    wanted = node.wanted("sh", "-c", "sleep 3; exit 5")
    await node.order(1, wanted)
    await node.until(has_started)
    (member,) = etcd.members
    member.kill()
    node.desk.raw.containers.get(wanted.name).wait(timeout=20)
    node.kill()
    node.start()
    member.restart()

    exited = await node.exit_of(wanted)

    reason = "exited" if node.desk.raw.info()["LiveRestoreEnabled"] else "lost"
    assert (exited.reason, exited.exit_code) == (reason, 5)


async def test_output_of_a_container_that_never_was_is_not_found(node: Node) -> None:
    """The reader is told so at once."""
    await node.until(lambda events: bool(reports(events)))

    answer = await node.output(node.wanted())

    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert "no output" in answer.json()["error"]
