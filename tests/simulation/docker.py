"""A Docker engine of a simulated machine. It and its containers outlive the agent."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import PurePosixPath
from random import Random
from typing import Final, Literal, Protocol

import attrs

from dorm import labels
from dorm.ports.docker import ContainerSeen, Launch
from events.errors import DormError, NotFound, Rejected, Unavailable
from reconcilers.warden import Group
from tests.simulation.files import Disk
from tests.simulation.process import Process
from tests.simulation.training import Program, Rank, Trainings

MISSING_IMAGE: Final = "no-such-image"
DEADLINE_S: Final = 5.0
KILLED: Final = 137


@attrs.define(eq=False)
class Container:
    """One container as the engine holds it."""

    node_id: str
    launch: Launch
    app_id: str
    generation: int
    rank: int
    state: Literal["created", "running", "exited"] = "created"
    exit_code: int = 0
    oom_killed: bool = False
    frozen: bool = False
    training: Rank | None = None

    @property
    def group(self) -> tuple[str, str]:
        """Return tenure and kind of its cgroup; two empty words outside of any."""
        if not self.launch.cgroup_parent:
            return "", ""
        tenure, kind = self.launch.cgroup_parent.split("/")[-2:]
        return tenure, kind

    @property
    def key(self) -> tuple[str, int, int]:
        """Return what identifies the container in the whole cluster."""
        return self.app_id, self.generation, self.rank

    def seen(self) -> ContainerSeen:
        """Return the container as the port lists it."""
        return ContainerSeen(
            name=self.launch.name,
            app_id=self.app_id,
            generation=self.generation,
            rank=self.rank,
            revision=int(self.launch.labels[labels.REVISION]),
            epoch=int(self.launch.labels[labels.EPOCH]),
            origin=self.launch.labels[labels.ORIGIN],
            state=self.state,
            exit_code=self.exit_code,
            oom_killed=self.oom_killed,
            tenure=self.launch.labels.get(labels.TENURE, ""),
        )


class MountedFiles:
    """A directory, or a file, that a variable tells a container of, through its mounts."""

    def __init__(self, launch: Launch, disk: Disk, variable: str) -> None:
        """Take a container's mounts."""
        self._launch, self._disk = launch, disk
        self._root = PurePosixPath(launch.env[variable])

    def read(self, name: str) -> bytes | None:
        """See `CheckpointFiles`."""
        path = self._path(name)
        return self._disk.tree(path).get(path) if path else None

    def write(self, name: str, content: bytes | None) -> None:
        """See `CheckpointFiles`. What lies behind no mount is gone with the container."""
        path = self._path(name)
        if path and content is not None:
            self._disk.tree(path)[path] = content
        elif path:
            self._disk.tree(path).pop(path, None)

    def _path(self, name: str) -> str:
        """Return the path on the machine: the innermost mount counts."""
        inside = self._root / name
        above = [bind for bind in self._launch.binds if inside.is_relative_to(bind.target)]
        if not above:
            return ""
        bind = max(above, key=lambda one: len(one.target))
        return str(PurePosixPath(bind.source) / inside.relative_to(bind.target))


class Witness(Protocol):
    """Who is told what containers do, at the very moment."""

    def container_started(self, container: Container) -> None:
        """It runs."""
        ...

    def container_frozen(self, container: Container) -> None:
        """It stands still."""
        ...

    def container_thawed(self, container: Container) -> None:
        """It runs on."""
        ...

    def container_ended(self, container: Container) -> None:
        """It has ended, with an exit code."""
        ...


class Engine:
    """The daemon and the containers of one node.

    Attributes:
        available: Whether it answers. Containers run on when it does not.
        boots: How often the machine was started anew.
        moved: Called when a group is new, or a container starts in one.
    """

    def __init__(
        self, node_id: str, *, trainings: Trainings, witness: Witness, disk: Disk, random: Random
    ) -> None:
        """Start an engine without containers."""
        self.node_id, self.random, self._disk = node_id, random, disk
        self.available = True
        self.moved: Callable[[], None] = lambda: None
        self.boots = 0
        self.containers: dict[str, Container] = {}
        self._trainings, self._witness = trainings, witness
        self._changed = asyncio.Event()
        self._groups: dict[tuple[str, str], bool] = {}  # whether it is frozen

    def running(self) -> list[Container]:
        """Return the containers that run."""
        return [c for c in self.containers.values() if c.state == "running"]

    def create(self, launch: Launch) -> None:
        """See `Docker`."""
        if launch.image == MISSING_IMAGE:
            raise Rejected("is not on this machine", field="image", value=launch.image)
        if launch.name not in self.containers:
            self.containers[launch.name] = Container(
                node_id=self.node_id,
                launch=launch,
                app_id=launch.labels[labels.APP],
                generation=int(launch.labels[labels.GENERATION]),
                rank=int(launch.labels[labels.RANK]),
            )
            if launch.cgroup_parent:
                self._groups.setdefault(self.containers[launch.name].group, False)
                self.moved()

    def start(self, name: str) -> None:
        """See `Docker`."""
        container = self.containers.get(name)
        if container is None:
            raise NotFound("is not a container", field="name", value=name)
        if container.state == "created":
            container.state = "running"
            container.training = self._rank(container)
            if container.launch.cgroup_parent:  # After a reboot its group is made anew.
                self._groups.setdefault(container.group, False)
            container.frozen = self._groups.get(container.group, False)
            self._witness.container_started(container)
            self._trainings.started(container.training)
            if container.frozen:
                self._trainings.frozen(container.training)
            self.moved()
            self.ring()

    def signal(self, name: str, signal: str) -> None:
        """See `Docker`."""
        container = self.containers.get(name)
        if container is None or container.training is None or container.state != "running":
            return
        if signal == "SIGKILL":
            container.training.end(KILLED)
        else:
            self._trainings.signalled(container.training)

    def remove(self, name: str) -> None:
        """See `Docker`."""
        container = self.containers.get(name)
        if container is not None and container.state == "running":
            raise Unavailable(f"{name} runs")
        self.containers.pop(name, None)

    def reboot(self) -> None:
        """End every container, as the end of the machine does, and what was on its way."""
        self.boots += 1
        for container in self.running():
            self._end(container, KILLED)
        self._groups.clear()

    # What a warden sees and does

    def groups(self) -> tuple[Group, ...]:
        """Return every group that containers were made in."""
        populated = {container.group for container in self.running()}
        return tuple(
            Group(
                tenure=tenure,
                on_disconnect="keep" if kind == "keep" else "stop",
                frozen=frozen,
                populated=(tenure, kind) in populated,
            )
            for (tenure, kind), frozen in sorted(self._groups.items())
        )

    def freeze(self, tenure: str, kind: str, *, after_s: float = 0.0) -> None:
        """Freeze a group. The last process of it stands still a moment later."""
        self._groups[tenure, kind] = True

        def stand_still() -> None:
            for container in self._in(tenure, kind):
                if self._groups[tenure, kind] and not container.frozen:
                    container.frozen = True
                    assert container.training is not None, "it runs"
                    self._trainings.frozen(container.training)
                    self._witness.container_frozen(container)

        asyncio.get_running_loop().call_later(after_s, stand_still)

    def thaw(self, tenure: str, kind: str) -> None:
        """Let a group go on."""
        self._groups[tenure, kind] = False
        for container in self._in(tenure, kind):
            if container.frozen:
                container.frozen = False
                assert container.training is not None, "it runs"
                self._witness.container_thawed(container)
                self._trainings.thawed(container.training)

    def kill_group(self, tenure: str, kind: str) -> None:
        """End all of a group, which stays frozen."""
        self._groups[tenure, kind] = True
        for container in self._in(tenure, kind):
            self._end(container, KILLED)

    def _in(self, tenure: str, kind: str) -> list[Container]:
        return [one for one in self.running() if one.group == (tenure, kind)]

    def ring(self) -> None:
        """Tell everyone who listens that something changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait for a change."""
        await self._changed.wait()

    def _rank(self, container: Container) -> Rank:
        launch = container.launch
        return Rank(
            app_id=container.app_id,
            generation=container.generation,
            number=container.rank,
            origin=launch.labels[labels.ORIGIN],
            size=int(launch.env["DORM_WORLD_SIZE"]),
            program=Program.from_env(launch.env),
            fresh="--fresh" in launch.command,
            die=lambda exit_code: self._end(container, exit_code, oom=exit_code == KILLED),
            tell=lambda step: MountedFiles(
                container.launch, self._disk, "DORM_PROGRESS_FILE"
            ).write("", json.dumps({"step": step}).encode()),
            files=MountedFiles(container.launch, self._disk, "DORM_CHECKPOINT_DIR"),
        )

    def _end(self, container: Container, exit_code: int, *, oom: bool = False) -> None:
        assert container.training is not None, "only a started container ends"
        container.state, container.exit_code, container.oom_killed = "exited", exit_code, oom
        self._witness.container_ended(container)
        self._trainings.ended(container.training, exit_code)
        self.ring()


class SimDocker:
    """A `Docker` for one agent. What it asked for is done even when the agent dies meanwhile."""

    def __init__(self, engine: Engine, process: Process) -> None:
        """Connect an agent to the engine of its machine."""
        self._engine, self._process = engine, process

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """See `Docker`."""
        await self._call(lambda: None)
        names = sorted(self._engine.containers)
        return tuple(self._engine.containers[name].seen() for name in names)

    async def create(self, launch: Launch) -> None:
        """See `Docker`."""
        await self._call(lambda: self._engine.create(launch), slow_s=0.4)

    async def start(self, name: str) -> None:
        """See `Docker`."""
        await self._call(lambda: self._engine.start(name), slow_s=0.4)

    async def signal(self, name: str, signal: str) -> None:
        """See `Docker`."""
        await self._call(lambda: self._engine.signal(name, signal))

    async def remove(self, name: str) -> None:
        """See `Docker`."""
        await self._call(lambda: self._engine.remove(name))

    async def logs(self, name: str, *, follow: bool) -> AsyncIterator[bytes]:
        """See `Docker`."""
        del follow
        await self._call(lambda: None)
        if name not in self._engine.containers:
            raise NotFound("is not a container", field="name", value=name)
        yield f"output of {name}\n".encode()

    async def versions(self) -> Mapping[str, str]:
        """See `Docker`."""
        await self._call(lambda: None)
        return {"docker": "simulated"}

    async def doorbell(self) -> AsyncIterator[None]:
        """See `Docker`."""
        while True:
            await self._call(lambda: None)
            await self._engine.change()
            await self._process.gate()
            yield

    async def _call(self, request: Callable[[], None], *, slow_s: float = 0.02) -> None:
        """Let the engine do something. It goes on with that even when nobody waits any more."""
        await self._process.gate()
        loop, random = asyncio.get_running_loop(), self._engine.random
        done: asyncio.Future[None] = loop.create_future()

        boots = self._engine.boots

        def act() -> None:
            if self._engine.boots != boots:
                return  # Nothing of a request outlives the machine.
            if not self._engine.available:
                loop.call_later(random.uniform(0.1, 1.0), act)
                return
            try:
                request()
            except DormError as error:
                if not done.done():
                    done.set_exception(error)
            else:
                if not done.done():
                    done.set_result(None)

        loop.call_later(random.uniform(0.001, 0.02) + random.uniform(0, slow_s), act)
        try:
            async with asyncio.timeout(DEADLINE_S):
                await done
        except TimeoutError as error:
            raise Unavailable("the Docker engine does not answer") from error
        finally:
            await self._process.gate()
