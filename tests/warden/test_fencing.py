"""What the warden does to real processes, on real cgroups."""

import asyncio
import os
import signal
import time

from dorm.tenure import FREEZE_S_MAX
from tests.warden.nodes import SECONDS, SETTLED_S, Node, is_alive, until


async def test_a_lapsed_permit_freezes_and_a_renewed_one_thaws(node: Node) -> None:
    """In time, and without a step lost: the same process goes on where it stood."""
    assert await node.warden.ensure()
    deadline_s = await node.permit(1.0)
    counter = node.counter()
    await counter.steps()

    await until(lambda: node.state() == "frozen")
    assert await counter.stands()
    before = counter.count
    await node.permit(SECONDS)
    await counter.steps()

    assert counter.process.poll() is None
    assert counter.path.read_bytes()[:before] == b"x" * before
    await until(lambda: node.did() == ["began", "froze", "thawed"])
    froze, thawed = [deed for deed in await node.warden.deeds(0) if deed.tenure]
    assert (froze.did, froze.why, thawed.did, thawed.why) == ("froze", "lapsed", "thawed", "valid")
    assert deadline_s <= froze.at_s <= deadline_s + FREEZE_S_MAX


async def test_without_a_permit_the_unknown_is_frozen_and_not_killed(node: Node) -> None:
    """A file that was damaged says nothing; the next one may say that all is well."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter, kept = node.counter(), node.counter(kind="keep")
    await counter.steps()

    node.paths.permit.write_bytes(b'{"tenure": "t1", "dead')
    await until(lambda: node.state() == "frozen")
    assert await counter.stands()
    await kept.steps()
    await node.permit(SECONDS)

    await counter.steps()


async def test_another_tenure_kills_whatever_runs_frozen_or_not(node: Node) -> None:
    """Peers of these have been started elsewhere: nothing of them may make one more step."""
    assert await node.warden.ensure()
    await node.permit(0.5)
    counters = [node.counter(), node.counter(kind="keep"), node.counter("t0")]
    await counters[1].steps()
    await until(lambda: node.state() == "frozen")
    stood = counters[0].count
    assert not await node.warden.empty("t2")

    await node.permit(0.0, tenure="t2")
    ends_at = time.monotonic() + SECONDS
    while not await node.warden.empty("t2"):
        assert time.monotonic() < ends_at
        await asyncio.sleep(0.01)

    await until(lambda: all(counter.is_dead for counter in counters))
    assert counters[0].count == stood


async def test_what_comes_late_into_an_ended_tenure_executes_nothing(node: Node) -> None:
    """Such as a start that a hung engine still had on its way: it is killed where it lands."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    await until(lambda: bool(node.state()))
    await node.permit(0.0, tenure="t2")
    await until(lambda: bool(node.state("t2")))
    assert await node.warden.empty("t2")

    late = [node.counter("t1"), node.counter("t1", "keep")]

    await until(lambda: all(counter.is_dead for counter in late))
    assert [counter.count for counter in late] == [0, 0]


async def test_a_start_while_the_permit_has_lapsed_waits_for_the_right(node: Node) -> None:
    """The group is frozen while it is empty, not only what was in it at the deadline."""
    assert await node.warden.ensure()
    await node.permit(0.0)
    await until(lambda: bool(node.state()))

    counter = node.counter()
    await asyncio.sleep(SETTLED_S)
    assert counter.count == 0
    await node.permit(SECONDS)

    await counter.steps()


async def test_a_dead_agent_is_outlived_and_its_containers_freeze(node: Node) -> None:
    """Its whole group of processes is killed, as a terminal or a supervisor would."""
    agent = node.agent()
    await until(lambda: node.state() == "running")
    counter = node.counter()
    await counter.steps()

    os.killpg(agent.pid, signal.SIGKILL)
    killed_s = time.monotonic()
    await until(lambda: node.state() == "frozen", within_s=5.0)

    assert await counter.stands()
    assert is_alive(node.status().pid)
    assert time.monotonic() - killed_s < 5.0
    node.agent()
    await counter.steps()


async def test_a_stopped_agent_cannot_keep_its_containers_running(node: Node) -> None:
    """It may believe what it likes when it goes on; they have stood meanwhile."""
    agent = node.agent()
    await until(lambda: node.state() == "running")
    counter = node.counter()
    await counter.steps()

    agent.send_signal(signal.SIGSTOP)
    await until(lambda: node.state() == "frozen", within_s=5.0)
    assert await counter.stands()
    agent.send_signal(signal.SIGCONT)

    await counter.steps()
