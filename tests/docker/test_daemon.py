"""An agent whose Docker engine is restarted, killed or frozen under it."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest

from dorm.local.etcd_process import EtcdCluster
from events.catalog import Event
from events.generations import ContainerExited, ContainerStarted
from tests.docker.agents import STOP, WORK, Node
from tests.docker.daemons import IMAGE, Daemon, daemon
from tests.docker.engines import Desk

pytestmark = pytest.mark.docker

FOR_EVER = "while :; do sleep 0.1; done"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Return an engine whose containers outlive it."""
    with daemon(tmp_path_factory.mktemp("daemon"), live_restore=True) as engine:
        yield engine


@contextmanager
def node_on(engine: Daemon, etcd: EtcdCluster, tmp_path: Path) -> Iterator[Node]:
    """Yield a node with a running agent on that engine, which answers at the end."""
    desk = Desk(engine.url, IMAGE)
    desk.network = "host"
    node = Node(desk, etcd, tmp_path)
    node.start()
    try:
        yield node
    finally:
        node.stop()
        engine.start()
        desk.clean_up()


def has_started(node: Node, *apps: str) -> Callable[[list[Event]], bool]:
    """Return a test of the log: whether the containers of these applications run."""
    wanted = {node.desk.app(app) for app in apps}
    return lambda events: (
        wanted <= {event.app_id for event in events if isinstance(event, ContainerStarted)}
    )


def ends(events: list[Event], node: Node, app: str) -> list[tuple[str, int | None]]:
    """Return how an application's containers ended: reason and exit code."""
    return [
        (event.reason, event.exit_code)
        for event in events
        if isinstance(event, ContainerExited) and event.app_id == node.desk.app(app)
    ]


async def test_a_restarted_engine_with_live_restore_costs_nothing(
    engine: Daemon, etcd: EtcdCluster, tmp_path: Path
) -> None:
    """Killed or stopped: the same processes, and true exit codes of those that ended meanwhile."""
    with node_on(engine, etcd, tmp_path) as node:
        go = tmp_path / "work" / "go"
        ending = f"until [ -e /scratch/{go.name} ]; do sleep 0.1; done; exit 5"
        runs = node.wanted("sh", "-c", FOR_EVER, app_id="runs")
        ended = node.wanted("sh", "-c", ending, app_id="ends", mounts=(WORK,))
        await node.order(1, runs, ended)
        await node.until(has_started(node, "runs", "ends"))
        before = node.desk.inspect(runs.name)["State"]

        engine.end(signal.SIGKILL)
        go.touch()
        await asyncio.sleep(0.5)
        engine.start()
        await node.until(lambda events: bool(ends(events, node, "ends")))
        engine.end(signal.SIGTERM)
        engine.start()
        late = node.wanted(app_id="late")
        await node.order(2, attrs.evolve(runs, started=True), late)
        events = await node.until(has_started(node, "late"))

        assert ends(events, node, "ends") == [("exited", 5)]
        assert ends(events, node, "runs") == []
        after = node.desk.inspect(runs.name)["State"]
        assert (after["Pid"], after["StartedAt"]) == (before["Pid"], before["StartedAt"])


async def test_an_engine_that_takes_its_containers_with_it_finishes_nobody(
    etcd: EtcdCluster, tmp_path: Path
) -> None:
    """Without live-restore a training that saves its work ends with 0. It is to go on, not done."""
    with daemon(tmp_path, live_restore=False) as engine, node_on(engine, etcd, tmp_path) as node:
        saving = f"trap 'sleep 1; exit 0' TERM; {FOR_EVER}"
        wanted = node.wanted("sh", "-c", saving, app_id="saves")
        done = node.wanted("sh", "-c", "sleep 0.5; exit 0", app_id="done")
        await node.order(1, wanted, done)
        await node.until(has_started(node, "saves"))
        await node.until(lambda events: bool(ends(events, node, "done")))

        engine.end(signal.SIGTERM)
        engine.start()
        events = await node.until(lambda events: bool(ends(events, node, "saves")))

        assert ends(events, node, "saves") == [("lost", 0)]
        assert ends(events, node, "done") == [("exited", 0)]


async def test_an_engine_that_dies_within_a_stop_is_told_again(
    engine: Daemon, etcd: EtcdCluster, tmp_path: Path
) -> None:
    """It forgets what it was doing; the container ends when its grace time is over all the same."""
    with node_on(engine, etcd, tmp_path) as node:
        deaf = f"trap ': > /scratch/heard' TERM; {FOR_EVER}"
        wanted = node.wanted("sh", "-c", deaf, app_id="deaf", mounts=(WORK,))
        await node.order(1, wanted)
        await node.until(has_started(node, "deaf"))
        await asyncio.sleep(1.0)  # It is signalled once it is old enough.
        await node.order(2, attrs.evolve(wanted, started=True, stop=STOP))
        await node.until(lambda _: (node.work / "heard").exists())

        first = node.desk.inspect(wanted.name)["State"]["Pid"]
        engine.end(signal.SIGKILL)
        await asyncio.sleep(STOP.grace_ms / 1000)
        os.kill(first, 0)  # It just runs on.
        engine.start()
        events = await node.until(lambda events: bool(ends(events, node, "deaf")))

        assert ends(events, node, "deaf") == [("killed", 137)]


async def test_a_frozen_engine_holds_up_nothing_but_its_containers(
    engine: Daemon, etcd: EtcdCluster, tmp_path: Path
) -> None:
    """The node keeps its lease and follows its orders; once it thaws all is done, and once only."""
    with node_on(engine, etcd, tmp_path) as node:
        runs = node.wanted("sh", "-c", FOR_EVER, app_id="runs")
        await node.order(1, runs)
        await node.until(has_started(node, "runs"))
        held = await node.lease()

        engine.send(signal.SIGSTOP)
        await node.order(2, attrs.evolve(runs, started=True), node.wanted(app_id="late"))
        await node.until_told(2)
        await asyncio.sleep(2.0)
        assert await node.lease() == held
        engine.send(signal.SIGCONT)
        events = await node.until(has_started(node, "late"))

        starts = [event.app_id for event in events if isinstance(event, ContainerStarted)]
        assert starts == [node.desk.app("runs"), node.desk.app("late")]
        assert sorted(node.desk.names()) == sorted([runs.name, node.wanted(app_id="late").name])
