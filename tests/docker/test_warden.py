"""The warden and real containers: also with an engine that hangs, and starts that come late."""

import asyncio
import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from dorm import cgroups, labels
from dorm.local.engine import PrivateEngine
from dorm.ports.docker import Launch
from dorm.warden import mounts
from events.errors import Rejected, Unavailable
from tests.docker.engines import Desk, bind
from tests.warden.nodes import NODE_ID, SECONDS, SETTLED_S, Node, hierarchies, is_alive, until

pytestmark = pytest.mark.docker

COUNT = ("sh", "-c", "while :; do printf x >> /data/count; sleep 0.01; done")
SMALL_IMAGE = "dorm-test-shell:latest"


class Ward:
    """Containers of one node, in the groups of its warden."""

    def __init__(self, desk: Desk, directory: Path, hierarchy: Path) -> None:
        self.desk, self.directory = desk, directory
        self.node = Node(hierarchy, directory, cluster=desk.cluster)
        self.engine = desk.engine(NODE_ID)

    def launch(self, app_id: str, *, tenure: str = "t1", kind: str = "stop") -> Launch:
        """Return a container that counts in a file of its own."""
        data = self.directory / app_id
        data.mkdir()
        launch = self.desk.launch(app_id, *COUNT, node_id=NODE_ID, binds=(bind(data, "/data"),))
        group = cgroups.of_containers(self.desk.cluster, NODE_ID, tenure, kind)
        return self.desk.launch(
            app_id,
            *COUNT,
            node_id=NODE_ID,
            binds=launch.binds,
            labels={**launch.labels, **labels.of_tenure(tenure)},
            cgroup_parent=group,
        )

    async def start(self, app_id: str, *, kind: str = "stop") -> Launch:
        """Start a container and return it once it counts."""
        launch = self.launch(app_id, kind=kind)
        await self.engine.create(launch)
        await self.engine.start(launch.name)
        await until(lambda: self.count(app_id) > 0)
        return launch

    def count(self, app_id: str) -> int:
        """Return how many steps a container has made."""
        path = self.directory / app_id / "count"
        return path.stat().st_size if path.exists() else 0

    async def stands(self, app_id: str) -> bool:
        """Return whether it makes no step."""
        before = self.count(app_id)
        await asyncio.sleep(0.3)
        return self.count(app_id) == before

    def pid(self, launch: Launch) -> int:
        """Return the id of a container's first process."""
        return int(self.desk.inspect(launch.name)["State"]["Pid"])

    async def emptied(self, tenure: str) -> None:
        """Give the node a new tenure, and wait until nothing of the old ones is left."""
        await self.node.permit(0.0, tenure=tenure)
        for _ in range(int(SECONDS / 0.02)):
            if await self.node.warden.empty(tenure):
                return
            await asyncio.sleep(0.02)
        pytest.fail(f"not empty: {self.node.tree.groups()}")


@pytest.fixture(params=hierarchies(), ids=lambda kernel: kernel.name)
def ward(desk: Desk, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ward]:
    """A node without a warden yet. Where both versions are mounted, engines use both."""
    ward = Ward(desk, tmp_path, request.param.root)
    yield ward
    ward.node.clean_up()  # before the desk: the engine cannot remove what is frozen
    desk.clean_up()


async def test_containers_freeze_at_the_deadline_and_go_on_when_it_is_renewed(ward: Ward) -> None:
    """The same process, no step lost; those that may outlast a disconnect never stand."""
    assert await ward.node.warden.ensure()
    await ward.node.permit(SECONDS)
    launch, _ = await ward.start("a"), await ward.start("b", kind="keep")
    pid = ward.pid(launch)

    await ward.node.permit(0.5)
    await until(lambda: ward.node.state() == "frozen")
    assert await ward.stands("a")
    assert not await ward.stands("b")
    before = ward.count("a")
    await ward.node.permit(SECONDS)
    await until(lambda: ward.count("a") > before)

    assert ward.pid(launch) == pid
    seen = {one.name: one for one in await ward.engine.containers()}
    assert (seen[launch.name].tenure, seen[launch.name].state) == ("t1", "running")


async def test_a_new_tenure_kills_containers_also_frozen_ones(ward: Ward) -> None:
    """And the engine learns that they were killed, and can remove them."""
    assert await ward.node.warden.ensure()
    await ward.node.permit(SECONDS)
    frozen, kept = await ward.start("a"), await ward.start("b", kind="keep")
    await ward.node.permit(0.0)
    await until(lambda: ward.node.state() == "frozen")
    stood = ward.count("a")

    await ward.emptied("t2")
    counts = ward.count("a"), ward.count("b")

    await asyncio.sleep(SETTLED_S)
    assert (ward.count("a"), ward.count("b")) == counts
    assert ward.count("a") == stood
    for launch in (frozen, kept):
        await until(lambda name=launch.name: not ward.desk.inspect(name)["State"]["Running"])  # type: ignore[misc]
    seen = await ward.engine.containers()
    assert [(one.state, one.exit_code) for one in seen] == [("exited", 137)] * 2
    await ward.engine.remove(kept.name)


async def test_a_start_while_the_permit_has_lapsed_runs_when_it_is_renewed(ward: Ward) -> None:
    """It waits in the engine meanwhile, and executes nothing."""
    assert await ward.node.warden.ensure()
    await ward.node.permit(0.0)
    await until(lambda: ward.node.state() == "frozen")
    launch = ward.launch("a")
    await ward.engine.create(launch)

    starting = asyncio.create_task(ward.engine.start(launch.name))
    await asyncio.sleep(2.0)
    assert not starting.done()
    assert ward.count("a") == 0
    await ward.node.permit(SECONDS)

    await starting
    await until(lambda: ward.count("a") > 0)


async def test_a_start_after_the_tenure_executes_nothing(ward: Ward) -> None:
    """Its application may run elsewhere by now."""
    assert await ward.node.warden.ensure()
    await ward.node.permit(SECONDS)
    await until(lambda: ward.node.state() == "running")
    late, kept = ward.launch("a"), ward.launch("b", kind="keep")
    await ward.engine.create(late)
    await ward.engine.create(kept)
    await ward.emptied("t2")

    for launch in (late, kept):
        with pytest.raises((Rejected, Unavailable)):
            await ward.engine.start(launch.name)

    await asyncio.sleep(SETTLED_S)
    assert (ward.count("a"), ward.count("b")) == (0, 0)
    await ward.emptied("t2")
    assert all(one.state != "running" for one in await ward.engine.containers())


@pytest.fixture
def private(tmp_path: Path) -> Iterator[PrivateEngine]:
    """An engine that a test may stop in place."""
    if os.geteuid() != 0 or not shutil.which("dockerd"):
        pytest.skip("a private engine needs root and dockerd")
    private = PrivateEngine.of(tmp_path / "engine")
    private.start(print)
    yield private
    private.stop()


def shell() -> bytes:
    """Return a root file system with this machine's shell and what it needs."""
    programs = [Path("/bin/sh"), Path(shutil.which("sleep") or "/bin/sleep")]
    linked = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=True).stdout
    paths = {*programs, *map(Path, re.findall(r"\s(/\S+) \(0x", linked))}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(paths):
            tar.add(path.resolve(), arcname=str(path))
    return packed.getvalue()


async def test_a_hung_engine_keeps_nothing_running_and_its_late_start_runs_nothing(
    private: PrivateEngine, tmp_path: Path
) -> None:
    """The fence needs no engine: freeze, thaw and kill go past it, through the cgroup."""
    with contextlib.closing(docker.DockerClient(base_url=private.url)) as raw:
        raw.api.import_image_from_data(
            shell(), repository="dorm-test-shell", tag="latest", changes=["ENV PATH=/bin:/usr/bin"]
        )
    desk = Desk(private.url, SMALL_IMAGE)
    desk.network = "host"
    ward = Ward(desk, tmp_path, mounts.find().guarded.root)
    hung = private.pid()
    assert hung is not None
    try:
        assert await ward.node.warden.ensure()
        await ward.node.permit(SECONDS)
        launch, late = await ward.start("a"), ward.launch("b")
        await ward.engine.create(late)
        pid = ward.pid(launch)

        os.kill(hung, signal.SIGSTOP)
        starting = asyncio.create_task(desk.engine(NODE_ID, call_s=SECONDS).start(late.name))
        await ward.node.permit(0.0)
        await until(lambda: ward.node.state() in {"freezing", "frozen"})
        assert await ward.stands("a")
        stood = ward.count("a")
        await ward.node.permit(SECONDS)
        await until(lambda: ward.count("a") > stood)
        await ward.emptied("t2")
        await until(lambda: not is_alive(pid))

        os.kill(hung, signal.SIGCONT)
        with pytest.raises((Rejected, Unavailable)):
            await starting
        await asyncio.sleep(SETTLED_S)
        assert ward.count("b") == 0
        await ward.emptied("t2")
        states = {one.name: one for one in await ward.engine.containers()}
        assert (states[launch.name].state, states[launch.name].exit_code) == ("exited", 137)
        assert states[late.name].state != "running"
    finally:
        os.kill(hung, signal.SIGCONT)
        ward.node.clean_up()
        desk.clean_up()
