"""A whole simulated cluster: real masters, agents and logs on simulated ports."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any, Final

import attrs

from dorm.agent.agent import Agent
from dorm.config import AgentConfig, ClusterConfig, MasterConfig, MountSource, SpaceConfig
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.master.master import Master
from dorm.planner.inline import InlinePlanner
from dorm.space.archive import Archive
from events.codec import from_json
from events.nodes import Device
from events.policy import LayoutRules
from events.units import Resources
from reconcilers.documents import NodeDocument
from tests.simulation.archived import ArchiveChecker
from tests.simulation.checker import Checker
from tests.simulation.checkpoints import SimCheckpoints
from tests.simulation.crash_points import CrashPoints
from tests.simulation.docker import Engine, SimDocker
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.files import SHARED, Disk, SimFiles
from tests.simulation.masters import SimMasters
from tests.simulation.process import MachineClock, Process, SimClock, SimRandomness
from tests.simulation.storage import Storage
from tests.simulation.training import Trainings
from tests.simulation.users import Errand, User
from tests.simulation.views import leader_of
from tests.simulation.warden import SimWarden, WardenProcess

CLUSTER: Final = "sim"
DEVICES_PER_NODE: Final = 2
CAPACITY: Final = Resources(cpu_milli=4_000, memory_bytes=8 << 30, gpu_count=DEVICES_PER_NODE)
DRIFT: Final = 0.02
BOOT_S_MAX: Final = 3_600.0
SKEW_MS_MAX: Final = 3_600_000  # nobody decides by UTC
SUPERVISION_S: Final = 1.0
STORE_LOOK_S: Final = 4.0
STATUS_S: Final = 5.0  # nothing is decided by it
SEGMENT_EVENTS_MAX: Final = 40  # small, so that each run rolls over and starts from snapshots
SNAPSHOT_EVERY: Final = 30
SPACE: Final = SpaceConfig(
    archive=f"{SHARED}/archive", retain_events=60, compact_every_s=4.0, history_s=12.0
)
RULES: Final = LayoutRules(min_run_ms=0, touch_factor=1.0)  # as many resizes as there can be


@attrs.frozen(kw_only=True)
class Parts:
    """What a cluster is put together from, so that a test can put a broken part in."""

    etcd: Callable[[EtcdStore, Process, NetworkFaults], SimEtcdClient] = SimEtcdClient
    docker: Callable[[Engine, Process], SimDocker] = SimDocker
    checkpoints: Callable[[Disk, Process], SimCheckpoints] = SimCheckpoints
    files: Callable[[Disk, Process], SimFiles] = SimFiles
    warden: Callable[[WardenProcess, Engine, Process], SimWarden] = SimWarden
    agent: type[Agent] = Agent
    master: type[Master] = Master


SOUND: Final = Parts()


@attrs.define(eq=False)
class Machine:
    """A node: its engine and disk stay while agents come and go.

    Attributes:
        broken: It cannot be started for now.
    """

    node_id: str
    engine: Engine
    disk: Disk
    process: Process
    warden: WardenProcess
    broken: bool = False


class Cluster:
    """Masters, machines and users, and the world they live in.

    Attributes:
        network: How bad the network is now.
        storage: What all machines share.
        masters: The present process of each master, by name, with the master itself.
        crash_points: Where processes can be made to crash by name.
    """

    def __init__(
        self,
        seed: int,
        *,
        masters: int = 2,
        nodes: int = 3,
        rules: LayoutRules = RULES,
        parts: Parts = SOUND,
    ) -> None:
        """Build the world; `start` puts it to work. Needs a running loop."""
        self.seed = seed
        self.keys, self.store, self.network = Keys(CLUSTER), EtcdStore(), NetworkFaults()
        node_ids = [f"n{index}" for index in range(nodes)]
        now = asyncio.get_running_loop().time
        self.checker = Checker(self.keys, self.store, dict.fromkeys(node_ids, CAPACITY), now)
        self.crash_points = CrashPoints(self.checker.tell)
        self.trainings = Trainings(Random(f"{seed}/trainings"), self.checker)
        self.masters: dict[str, tuple[Process, Master]] = {}
        self.users: list[Process] = []
        self._parts, self._rules = parts, rules
        self._world = Random(f"{seed}/world")
        self._starts = 0
        self._clocks: dict[str, MachineClock] = {}
        self._master_names = tuple(f"m{index}" for index in range(masters))
        self._shared: dict[str, bytes] = {}
        self.storage = Storage(self._shared)
        disks = {node_id: Disk(self._shared) for node_id in node_ids}
        self.machines = {node_id: self._machine(node_id, disks[node_id]) for node_id in node_ids}
        store = self.store
        self.archived = ArchiveChecker(self.keys, store, self._shared, SPACE.archive, self.checker)

    def start(self) -> None:
        """Start every master and agent."""
        for name in self._master_names:
            self.start_master(name)
        for node_id in self.machines:
            self.start_agent(node_id)
        self._user("operator", lambda user: user.configure(self._rules))
        self._supervision = asyncio.create_task(self._supervise())

    def start_master(self, name: str) -> None:
        """Start a master anew."""
        process = self._process(name)
        etcd, clock, randomness = self._ports(process)
        config = MasterConfig(
            name=name,
            url=f"http://{name}.test",
            cluster=ClusterConfig(cluster=CLUSTER),
            status_s=STATUS_S,
            store_look_s=STORE_LOOK_S,
            segment_events_max=SEGMENT_EVENTS_MAX,
            snapshot_every=SNAPSHOT_EVERY,
            space=SPACE,
        )
        master = self._parts.master(
            config,
            etcd=etcd,
            log=self._log(process, etcd),
            planner=InlinePlanner(),
            clock=clock,
            randomness=randomness,
            archive=Archive(SimFiles(Disk(self._shared), process), SPACE.archive, cluster=CLUSTER),
        )
        self.masters[name] = process, master
        process.spawn(master.run())
        self.checker.tell(f"master {name} started")

    def start_agent(self, node_id: str) -> None:
        """Start a node's agent anew."""
        machine = self.machines[node_id]
        machine.process = process = self._process(node_id)
        etcd, clock, randomness = self._ports(process)
        config = AgentConfig(
            node_id=node_id,
            cluster=ClusterConfig(cluster=CLUSTER),
            capacity=CAPACITY,
            devices=tuple(
                Device(uuid=f"GPU-{node_id}-{index}") for index in range(DEVICES_PER_NODE)
            ),
            mounts={"shared": MountSource(path=SHARED)},
            state_dir=f"/var/lib/dorm/{node_id}",
            store_look_s=STORE_LOOK_S,
        )
        agent = self._parts.agent(
            config,
            etcd=etcd,
            log=self._log(process, etcd),
            docker=self._parts.docker(machine.engine, process),
            files=self._parts.files(machine.disk, process),
            checkpoints=self._parts.checkpoints(machine.disk, process),
            clock=clock,
            randomness=randomness,
            masters=SimMasters(process, self.masters),
            warden=self._parts.warden(machine.warden, machine.engine, process),
        )
        process.spawn(agent.run())
        self.checker.tell(f"agent {node_id} started")

    def reboot(self, node_id: str) -> None:
        """Switch a machine off and on: its containers end, its clock begins anew."""
        machine = self.machines[node_id]
        machine.process.kill()
        machine.engine.reboot()
        machine.warden.reboot()
        clock = self._clocks[node_id]
        now = asyncio.get_running_loop().time()
        self._clocks[node_id] = attrs.evolve(clock, boot_s=-now * clock.rate)

    def start_user(self, name: str, errands: tuple[Errand, ...]) -> None:
        """Send a user on errands."""
        self._user(name, lambda user: user.run(errands))

    def cancel(self, app_id: str) -> None:
        """Let somebody ask for the end of an application."""
        self._user(f"cancel-{app_id}", lambda user: user.cancel(app_id))

    def _user(self, name: str, program: Callable[[User], Coroutine[Any, Any, None]]) -> None:
        process = self._process(name)
        etcd, clock, randomness = self._ports(process)
        log = self._log(process, etcd)
        user = User(name, log=log, clock=clock, randomness=randomness, checker=self.checker)
        self.users.append(process)
        process.spawn(program(user))

    def restart_dead(self) -> None:
        """Start every master and agent that does not run, where one can be started."""
        for name, (process, _) in list(self.masters.items()):
            if not process.alive:
                self.start_master(name)
        for node_id, machine in self.machines.items():
            if not machine.process.alive and not machine.broken:
                self.start_agent(node_id)

    @property
    def processes(self) -> Iterator[Process]:
        """Yield every present process."""
        yield from (process for process, _ in self.masters.values())
        yield from (machine.process for machine in self.machines.values())
        yield from self.users

    @property
    def leader(self) -> str | None:
        """Return the name of the master that holds the leader key now."""
        return leader_of(self.store, self.keys)

    def missing(self) -> list[str]:
        """Return what is left to do until everything has converged; nothing when it has."""
        missing = self.checker.missing()
        missing += [f"{user.name} is not done" for user in self.users if user.alive]
        for machine in self.machines.values():
            missing += [f"container {name} is left" for name in machine.engine.containers]
            item = self.store.get(self.keys.desired(machine.node_id))
            if item is not None:
                document = from_json(item.value, NodeDocument)
                missing += [f"{one.name} is still wanted" for one in document.containers]
        return missing

    async def _supervise(self) -> None:
        """Look for programs that end by themselves, and compare what masters believe."""
        while True:
            await asyncio.sleep(SUPERVISION_S)
            for process in self.processes:
                failure = process.failure
                self.checker.require(failure is None, f"{process.name} failed: {failure!r}")
            for name, (process, master) in self.masters.items():
                if process.alive:
                    self.checker.believed(name, master.state())
            for node_id, machine in self.machines.items():
                if machine.warden.works:
                    self.checker.wardens_seen(node_id, machine.warden.frozen_from)

    def _machine(self, node_id: str, disk: Disk) -> Machine:
        engine = Engine(
            node_id,
            trainings=self.trainings,
            witness=self.checker,
            disk=disk,
            random=Random(f"{self.seed}/engine/{node_id}"),
        )
        return Machine(
            node_id=node_id,
            engine=engine,
            disk=disk,
            process=self._process(node_id),
            warden=WardenProcess(engine),
        )

    def _process(self, name: str) -> Process:
        """Return a new process on the machine of that name."""
        self._starts += 1
        if name not in self._clocks:
            self._clocks[name] = MachineClock(
                boot_s=self._world.uniform(0, BOOT_S_MAX),
                rate=1 + self._world.uniform(-DRIFT, DRIFT),
                skew_ms=self._world.randint(-SKEW_MS_MAX, SKEW_MS_MAX),
            )
        return Process(
            f"{name}.{self._starts}", self.seed, self._clocks[name], self.crash_points.passed
        )

    def _log(self, process: Process, etcd: SimEtcdClient) -> EtcdLog:
        return EtcdLog(etcd, self.keys, producer=process.name)

    def _ports(self, process: Process) -> tuple[SimEtcdClient, SimClock, SimRandomness]:
        etcd = self._parts.etcd(self.store, process, self.network)
        return etcd, SimClock(process), SimRandomness(process)
