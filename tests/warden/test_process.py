"""The warden as a process: started, hung, killed, doubled, asked to end."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from dorm.warden import machine, mounts, status
from dorm.warden.groups import Kernel
from dorm.warden.process import SystemWarden
from events.errors import Rejected, Unavailable
from reconcilers.warden import Permit
from tests.warden.nodes import SECONDS, SETTLED_S, Node, is_alive, until

NOBODY = 65534


@pytest.fixture
def kernel() -> Kernel:
    """The cgroups that a warden finds by itself: a process is the same with each version."""
    if os.geteuid() != 0:
        pytest.skip("cgroups are root's")
    return mounts.find().guarded


@contextmanager
def spawned(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process for a block."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run a block without the rights of root."""
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


async def test_one_is_started_and_then_left_alone(node: Node) -> None:
    """The agent asks at each renewal, so asking must not disturb."""
    assert await node.warden.ensure()
    first = node.status().pid
    assert await node.warden.ensure()
    assert await node.another_agents().ensure()

    assert node.status().pid == first
    assert node.did() == ["began"]


async def test_a_killed_one_is_replaced_by_one_that_takes_over(node: Node) -> None:
    """What it froze stays frozen meanwhile, and goes on when the right is renewed."""
    assert await node.warden.ensure()
    await node.permit(0.3)
    counter = node.counter()
    await until(lambda: node.state() == "frozen")
    first = node.status().pid

    os.kill(first, signal.SIGKILL)
    await until(lambda: not is_alive(first))
    assert await counter.stands()
    assert await node.another_agents().ensure()

    assert node.status().pid != first
    assert await counter.stands()
    await node.permit(SECONDS)
    await counter.steps()
    await until(lambda: node.did()[-2:] == ["began", "thawed"])


async def test_a_hung_one_is_killed_and_replaced(node: Node) -> None:
    """It holds the lock and guards nothing, which is the worst of both."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter = node.counter()
    first = node.status().pid

    os.kill(first, signal.SIGSTOP)
    await until(lambda: machine.now_s() - node.status().alive_s > 2.0)
    assert await node.warden.ensure()

    assert not is_alive(first)
    assert node.status().pid != first
    await counter.steps()


async def test_one_of_another_version_is_replaced(node: Node) -> None:
    """After an upgrade of Dorm the old code must not guard for ever."""
    assert await node.warden.ensure()
    first = node.status()
    os.kill(first.pid, signal.SIGSTOP)  # or it would write its own version again
    status.write(node.paths.status, attrs.evolve(first, version=0, alive_s=machine.now_s()))

    assert await node.warden.ensure()

    assert node.status().pid != first.pid
    assert node.status().version == status.VERSION


async def test_a_process_that_only_has_the_id_of_a_warden_is_not_killed(node: Node) -> None:
    """Ids are used again; the start of the process tells whose it is."""
    assert await node.warden.ensure()
    with spawned("sleep", "60") as bystander:
        node.paths.lock.write_text(f'{{"pid": {bystander.pid}, "start_ticks": 1}}')
        first = node.status().pid
        os.kill(first, signal.SIGSTOP)
        await until(lambda: machine.now_s() - node.status().alive_s > 2.0)

        assert not await node.warden.ensure()

        assert bystander.poll() is None
        bystander.kill()
    os.kill(first, signal.SIGKILL)
    await until(lambda: not node.warden._is_held())


async def test_a_second_warden_says_who_guards_and_ends(node: Node) -> None:
    """Two of them could thaw what the other froze."""
    assert await node.warden.ensure()

    second = node.another_warden()

    assert second.returncode == 3
    assert f'"pid": {node.status().pid}' in second.stderr
    assert "another warden" in second.stderr


async def test_two_nodes_of_one_name_do_not_kill_each_others_containers(node: Node) -> None:
    """Such as of two clusters that were tried out by two people, with one engine."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter = node.counter()
    namesake = Node(node.hierarchy, node.directory / "other", cluster=node.cluster)
    await namesake.warden.permit("t9", machine.now_s() + SECONDS)

    assert not await namesake.warden.ensure()

    assert "a name of its own" in namesake.paths.output.read_text()
    await counter.steps()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
async def test_it_does_not_end_while_there_is_something_to_guard(
    node: Node, number: signal.Signals
) -> None:
    """Whoever stops a service, or closes a terminal, does not mean the fence."""
    assert await node.warden.ensure()
    await node.permit(1.0)
    counter = node.counter()
    pid = node.status().pid

    os.kill(pid, number)

    await until(lambda: node.state() == "frozen")
    assert node.status().pid == pid
    assert await counter.stands()


async def test_it_can_be_asked_to_leave_its_containers_as_they_are(node: Node) -> None:
    """An operator who takes Dorm off a machine decides for himself what runs on."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter = node.counter()
    assert not await node.warden.stop(within_s=SETTLED_S)

    assert await node.warden.stop(leave=True)

    await counter.steps()
    assert not node.paths.leave.exists()


async def test_a_wish_to_leave_is_for_the_warden_that_it_was_made_to(node: Node) -> None:
    """If that one was killed before it could, the next one guards on."""
    assert await node.warden.ensure()
    os.kill(node.status().pid, signal.SIGKILL)
    await until(lambda: not node.warden._is_held())
    node.paths.leave.touch()
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter = node.counter()
    await counter.steps()

    assert not await node.warden.stop(within_s=SETTLED_S)


async def test_it_ends_when_asked_with_nothing_to_guard_and_removes_its_groups(node: Node) -> None:
    """Nothing of a cluster that was tried out stays on the machine."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    await until(lambda: bool(node.state()))

    assert await node.warden.stop()

    assert not node.tree.base.exists()
    assert node.did()[-1] == "ended"
    assert await node.warden.stop()


async def test_an_idle_one_ends_by_itself_and_leaves_its_groups_frozen(node: Node) -> None:
    """With no warden left, what an engine still starts there must not run either."""
    node.run_dir.mkdir(mode=0o700)
    await node.permit(0.0)
    arguments = [*node.warden._arguments(), "--idle-s", "0.5"]

    with spawned(sys.executable, "-m", "dorm.warden", *arguments) as warden:
        counter = node.counter()
        await until(lambda: node.state() == "frozen")
        await asyncio.sleep(1.0)
        assert warden.poll() is None
        await node.permit(0.0, tenure="t2")
        assert warden.wait(SECONDS) == 0

    assert counter.is_dead
    assert all(group.frozen for group in node.tree.groups())
    assert len(node.tree.groups()) == 4
    assert await node.warden.stop()
    assert not node.tree.base.exists()


async def test_one_whose_run_directory_is_gone_makes_way_with_all_frozen(node: Node) -> None:
    """Nobody can speak to it any more, and it would keep the next one from the node's group."""
    assert await node.warden.ensure()
    await node.permit(SECONDS)
    counter = node.counter()
    await counter.steps()
    first = node.status().pid

    shutil.rmtree(node.run_dir)
    await until(lambda: not is_alive(first))
    assert await counter.stands()
    assert await node.another_agents().ensure()


async def test_without_root_it_refuses_and_says_what_to_do(node: Node) -> None:
    """An agent that hears this tells its masters that the node is not fenced."""
    with as_nobody(), pytest.raises(Rejected, match="as root"):
        await node.warden.ensure()
    with as_nobody():
        assert await node.warden.stop()

    refused = node.another_warden(user=NOBODY)

    assert refused.returncode == 2
    assert "run the agent as root" in refused.stderr
    assert "Traceback" not in refused.stderr


async def test_a_machine_without_such_cgroups_is_refused(tmp_path: Path) -> None:
    """The path is in the message, and what would have to be mounted."""
    warden = SystemWarden(str(tmp_path), cluster="c", node_id="n", hierarchy=str(tmp_path))

    with pytest.raises(Rejected, match="mount the freezer"):
        await warden.ensure()


async def test_a_permit_is_read_back_and_only_root_may_read_it(node: Node) -> None:
    """The next agent goes on with the tenure and the deadline of the one before."""
    assert await node.warden.permitted() is None
    await node.warden.permit("t1", 12.5)

    assert await node.another_agents().permitted() == Permit(tenure="t1", deadline_s=12.5)
    assert stat.S_IMODE(node.paths.permit.stat().st_mode) == 0o600
    assert stat.S_IMODE(node.run_dir.stat().st_mode) == 0o700


async def test_a_permit_that_cannot_be_written_leaves_the_one_before(node: Node) -> None:
    """The agent must know, since its containers freeze by it."""
    await node.warden.permit("t1", 12.5)
    node.paths.permit.with_name("permit.json.new").mkdir()

    with pytest.raises(Unavailable, match="permit"):
        await node.warden.permit("t1", 13.5)

    assert await node.warden.permitted() == Permit(tenure="t1", deadline_s=12.5)


@pytest.mark.parametrize("tenure", ["", "../t1", "T1", "a" * 65, "t 1"])
async def test_a_tenure_that_is_no_name_is_a_mistake(node: Node, tenure: str) -> None:
    """It becomes the name of a directory."""
    with pytest.raises(ValueError, match="no permit"):
        await node.warden.permit(tenure, 1.0)
