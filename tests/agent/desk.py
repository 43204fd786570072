"""An agent on stand-ins, in virtual time: what it is told, and what came of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import attrs

from dorm.agent import Agent
from dorm.config import AgentConfig, ClusterConfig, MountSource
from dorm.keys import Keys
from dorm.ports.docker import ContainerSeen, Launch, NotPulled, Unrunnable
from dorm.ports.etcd import Compare, Put
from events.catalog import Event
from events.codec import to_json
from events.errors import NotFound, Rejected, Unavailable
from events.generations import ContainerExited
from events.log import MemoryLog
from events.recorded import Stamp
from events.units import Resources
from reconcilers.documents import NodeDocument, Peer, StopOrder, WantedContainer, container_name
from tests.simulation.checkpoints import SimCheckpoints
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.files import Disk, SimFiles
from tests.simulation.loop import virtual_loop
from tests.simulation.masters import SimMasters
from tests.simulation.process import Process, SimClock, SimRandomness

NODE = "n1"
KEYS = Keys("test")
STOP = StopOrder(signal="SIGTERM", grace_ms=10_000, reason="resize")
CONFIG = AgentConfig(
    node_id=NODE,
    cluster=ClusterConfig(cluster="test"),
    capacity=Resources(cpu_milli=4_000, memory_bytes=8 << 30),
    mounts={
        "work": MountSource(path="/srv/scratch"),
        "data": MountSource(path="/srv/data", read_only=True),
    },
    state_dir="/state",
)


def play(story: Callable[["Desk"], Awaitable[None]]) -> None:
    """Run a story in virtual time."""
    with virtual_loop() as loop:

        async def main() -> None:
            await story(Desk())

        loop.run_until_complete(main())


def wanted(app_id: str = "a", rank: int = 0, **changes: object) -> WantedContainer:
    """Return a container that a document may hold."""
    container = WantedContainer(
        app_id=app_id,
        app_name="train",
        generation=1,
        rank=rank,
        started=False,
        stop=None,
        image="image",
        command=("train",),
        resume=False,
        env={},
        demand=Resources(cpu_milli=2_500),
        pids_max=64,
        devices=(),
        mounts=(),
        checkpoint_path="",
        grace_ms=10_000,
        port=20_000 + rank,
        peers=(
            Peer(rank=0, node_id=NODE, host=f"{app_id}-g1-w0", port=20_000),
            Peer(rank=1, node_id=NODE, host=f"{app_id}-g1-w1", port=20_001),
        ),
    )
    return attrs.evolve(container, **changes)  # type: ignore[arg-type]


class FakeDocker:
    """An engine that does what it is asked, and remembers.

    Attributes:
        started: Set from the first start on.
        refused: Images that it cannot run.
        missing: Images that do not exist.
        away: Images whose registry does not answer.
        slow: Images that take this many seconds to be made.
        deaf: Whether containers ignore every signal but SIGKILL.
        available: Whether it answers.
    """

    def __init__(self) -> None:
        self.there: dict[str, ContainerSeen] = {}
        self.launches: dict[str, Launch] = {}
        self.creates: Counter[str] = Counter()
        self.starts: Counter[str] = Counter()
        self.started = asyncio.Event()
        self.signals: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.missing: set[str] = set()
        self.away: set[str] = set()
        self.slow: dict[str, float] = {}
        self.deaf = False
        self.available = True
        self._changed = asyncio.Event()

    def end(self, name: str, **details: object) -> None:
        """Let a container end."""
        changes = {"state": "exited", **details}
        self.there[name] = attrs.evolve(self.there[name], **changes)  # type: ignore[arg-type]
        self._changed.set()
        self._changed = asyncio.Event()

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """See `Docker`."""
        await self._answer()
        return tuple(self.there[name] for name in sorted(self.there))

    async def create(self, launch: Launch) -> None:
        """See `Docker`."""
        self.creates[launch.name] += 1
        await self._answer(self.slow.get(launch.image, 0))
        if launch.image in self.refused:
            raise Rejected("does not fit this node", field="image", value=launch.image)
        if launch.image in self.missing:
            raise Unrunnable("does not exist", field="image", value=launch.image)
        if launch.image in self.away:
            raise NotPulled(f"image {launch.image} could not be pulled")
        app_id, generation, rank = launch.name.rsplit("-", 2)
        self.launches[launch.name] = launch
        self.there.setdefault(
            launch.name,
            ContainerSeen(
                name=launch.name,
                app_id=app_id,
                generation=int(generation[1:]),
                rank=int(rank[1:]),
                revision=int(launch.labels["dorm.revision"]),
                epoch=int(launch.labels["dorm.epoch"]),
                origin=launch.labels["dorm.origin"],
                state="created",
            ),
        )

    async def start(self, name: str) -> None:
        """See `Docker`."""
        await self._answer()
        if name not in self.there:
            raise NotFound("is not a container", field="name", value=name)
        if self.there[name].state == "created":
            self.starts[name] += 1
            self.started.set()
            self.there[name] = attrs.evolve(self.there[name], state="running")

    async def signal(self, name: str, signal: str) -> None:
        """See `Docker`."""
        await self._answer()
        self.signals.append((name, signal))
        if name in self.there and (signal == "SIGKILL" or not self.deaf):
            self.end(name, exit_code=137 if signal == "SIGKILL" else 0)

    async def remove(self, name: str) -> None:
        """See `Docker`."""
        await self._answer()
        if name in self.there and self.there[name].state == "running":
            raise Unavailable("it runs")
        self.there.pop(name, None)

    async def logs(self, name: str, *, follow: bool) -> AsyncIterator[bytes]:
        """See `Docker`."""
        del follow
        await self._answer()
        if name not in self.there:
            raise NotFound("is not a container", field="name", value=name)
        yield f"output of {name}\n".encode()

    async def versions(self) -> Mapping[str, str]:
        """See `Docker`."""
        await self._answer()
        return {"docker": "fake"}

    async def doorbell(self) -> AsyncIterator[None]:
        """See `Docker`."""
        while True:
            await self._changed.wait()
            yield

    async def _answer(self, after_s: float = 0.0) -> None:
        await asyncio.sleep(0.01 + after_s)
        if not self.available:
            raise Unavailable("the engine does not answer")


class FakeLog(MemoryLog):
    """A log that may be away. Even then an append may have been written, unknown to its caller.

    Attributes:
        on_append: Called at each append.
    """

    def __init__(self) -> None:
        super().__init__()
        self.available = True
        self.writes_unheard = False
        self._written: int | None = None
        self.on_append: Callable[[], None] = lambda: None

    async def append(
        self, events: Sequence[Event], *, stamp: Stamp, fence: int | None = None
    ) -> int:
        """See `EventLog`."""
        await asyncio.sleep(0.01)
        self.on_append()
        if self.available:
            return await super().append(events, stamp=stamp, fence=fence)
        self._written = None
        if self.writes_unheard:
            self._written = await super().append(events, stamp=stamp, fence=fence)
        raise Unavailable("the log does not answer")

    async def settle(self) -> int | None:
        """See `EventLog`."""
        await asyncio.sleep(0.01)
        if not self.available:
            raise Unavailable("the log does not answer")
        return self._written


class Desk:
    """One node: its engine, its disk, and etcd outlive the agent.

    Attributes:
        process: The present run of the agent.
    """

    def __init__(self) -> None:
        self.docker, self.log = FakeDocker(), FakeLog()
        self.store, self.shared = EtcdStore(), dict[str, bytes]()
        self.disk = Disk(self.shared)
        self.process: Process
        self.agent: Agent
        self._starts = 0

    def start(self, config: AgentConfig = CONFIG) -> None:
        """Start the agent, anew if there was one."""
        self._starts += 1
        self.process = Process(f"agent-{self._starts}", 1)
        self.agent = Agent(
            config,
            etcd=SimEtcdClient(self.store, self.process, NetworkFaults()),
            log=self.log,
            docker=self.docker,
            files=SimFiles(self.disk, self.process),
            checkpoints=SimCheckpoints(self.disk, self.process),
            clock=SimClock(self.process),
            randomness=SimRandomness(self.process),
            masters=SimMasters(self.process, {}),
        )
        self.process.spawn(self.agent.run())

    def order(self, revision: int, *containers: WantedContainer) -> None:
        """Write the node's document, as a master does."""
        document = NodeDocument(node_id=NODE, revision=revision, containers=containers)
        key = KEYS.desired(NODE)
        found = self.store.get(key)
        guard = Compare(key, "mod", found.mod_revision if found else 0)
        assert self.store.txn((guard,), (Put(key, to_json(document)),), ()).succeeded

    async def until(self, holds: Callable[[], bool], *, within_s: float = 60.0) -> None:
        """Wait for something to become true."""
        loop = asyncio.get_running_loop()
        limit = loop.time() + within_s
        while not holds():  # Ends at the limit.
            assert loop.time() < limit, (self.docker.there, self.events())
            if self.process.failure:
                raise self.process.failure
            await asyncio.sleep(0.05)

    def write(self, name: str, content: bytes, *, generation: int = 1) -> None:
        """Write a file into the checkpoint directory of a generation, as its containers do."""
        path = f"/srv/scratch/ckpt/a/.dorm/a/g{generation}/{name}"
        self.disk.tree(path)[path] = content

    async def until_running(self, name: str = "a-g1-w0") -> None:
        """Wait until a container runs and the log knows it."""
        await self.until(lambda: f"ContainerStarted {name}" in self.events())

    def events(self) -> list[str]:
        """Return the log in short: class, and the container's name and reason of its end."""
        return [_short(recorded.event) for recorded in self.log.recorded]

    def state(self, name: str = "a-g1-w0") -> str:
        """Return a container's state, or `absent`."""
        found = self.docker.there.get(name)
        return found.state if found else "absent"


def _short(event: object) -> str:
    words = [type(event).__name__]
    with suppress(AttributeError):
        words.append(container_name(event.app_id, event.generation, event.rank))  # type: ignore[attr-defined]
        words.append(event.reason)  # type: ignore[attr-defined]
    return " ".join(words)


def exits(desk: Desk) -> list[ContainerExited]:
    """Return the exits in the log."""
    found = [recorded.event for recorded in desk.log.recorded]
    return [event for event in found if isinstance(event, ContainerExited)]
