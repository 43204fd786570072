"""A seeded schedule of everything that goes wrong, and the healing after it."""

import asyncio
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from tests.simulation.cluster import Cluster, Machine
from tests.simulation.crash_points import SIMULATED
from tests.simulation.etcd import NetworkFaults
from tests.simulation.etcd_members import IDS
from tests.simulation.process import Process

QUIET: Final = NetworkFaults()
BAD: Final = NetworkFaults(
    lost_request=0.01, lost_reply=0.01, late_commit=0.4, slow=0.02, broken_watch=0.02
)
STORM: Final = NetworkFaults(
    lost_request=0.05, lost_reply=0.05, late_commit=0.6, slow=0.1, broken_watch=0.1
)

LOST_S: Final = (40.0, 150.0)  # far beyond what it takes to fence a node off
ALONE: Final = 0.5  # of processes that are cut off from etcd: from each other as well


class Chaos:
    """Breaks a cluster for some time, then heals it.

    Attributes:
        counts: How often each kind of fault was injected.
    """

    def __init__(self, cluster: Cluster, random: Random) -> None:
        """Take the cluster to break."""
        self._cluster, self._random = cluster, random
        self.counts: Counter[str] = Counter()
        cluster.crash_points.spares = self._is_spared
        self._kinds: dict[str, Callable[[], None]] = {
            "crash at a point": self._crash_at_a_point,
            "master crash": self._master_crash,
            "master pause": self._master_pause,
            "master cut": self._master_cut,
            "agent crash": self._agent_crash,
            "agent pause": self._agent_pause,
            "agent cut": self._agent_cut,
            "member crash": self._member_crash,
            "member apart": self._member_apart,
            "member elected": self._member_elected,
            "etcd outage": self._etcd_outage,
            "etcd full": self._etcd_full,
            "lease revoked": self._lease_revoked,
            "compaction": self._compaction,
            "docker hiccup": self._docker_hiccup,
            "disk full": self._disk_full,
            "reboot": self._reboot,
            "checkpoint damaged": self._checkpoint_damaged,
            "zombie write": self._zombie_write,
            "machine lost": self._machine_lost,
            "warden crash": self._warden_crash,
            "warden pause": self._warden_pause,
        }

    async def run(self, seconds: float) -> None:
        """Inject faults at random for so long.

        Each seed has its own mix: faults hide each other, so all of them all the time is not
        the worst.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        self._cluster.network.become(self._random.choice((QUIET, BAD, BAD, STORM)))
        kinds = self._random.sample(list(self._kinds), self._random.randint(4, len(self._kinds)))
        gap_s = self._random.choice((2.0, 4.0, 4.0, 8.0))
        while loop.time() < end:
            await asyncio.sleep(self._random.expovariate(1 / gap_s))
            kind = self._random.choice(kinds)
            self.counts[kind] += 1
            self._cluster.checker.tell(f"FAULT {kind}")
            self._kinds[kind]()

    async def heal(self) -> None:
        """End every fault, now and for good."""
        cluster = self._cluster
        cluster.checker.tell("HEAL")
        cluster.network.become(NetworkFaults())
        cluster.store.set_quorum(quorum=True)
        for process in cluster.processes:
            process.resume()
            process.join()
        cluster.store.full = False
        for machine in cluster.machines.values():
            machine.engine.available = True
            machine.disk.full = machine.broken = False
        cluster.trainings.crashing = False
        cluster.crash_points.disarm()
        cluster.restart_dead()

    def _span(self) -> float:
        return self._random.choice((1, 3, 6, 12, 20, 40)) * self._random.uniform(0.5, 1.5)

    def _later(self, action: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(self._span(), action)

    def _crash_at_a_point(self) -> None:
        name = self._random.choice(SIMULATED)
        self._cluster.crash_points.arm(name, nth=self._random.choice((1, 1, 2, 5)))
        self._later(self._cluster.restart_dead)

    def _master_crash(self) -> None:
        name = self._random.choice(sorted(self._cluster.masters))
        self._cluster.masters[name][0].kill()
        self._later(self._cluster.restart_dead)

    def _master_pause(self) -> None:
        process, _ = self._cluster.masters[self._random.choice(sorted(self._cluster.masters))]
        process.pause()
        self._later(process.resume)

    def _master_cut(self) -> None:
        process, _ = self._cluster.masters[self._random.choice(sorted(self._cluster.masters))]
        self._cut(process)

    def _agent_crash(self) -> None:
        machine = self._machine()
        if machine.warden.works:
            machine.process.kill()
            self._later(self._cluster.restart_dead)

    def _agent_pause(self) -> None:
        machine = self._machine()
        if machine.warden.works:
            machine.process.pause()
            self._later(machine.process.resume)

    def _agent_cut(self) -> None:
        self._cut(self._machine().process)

    # The protocol rests on wardens: one that dies or hangs is replaced by its agent, within some
    # seconds. A node whose agent and warden both hang is not fenced by anything, so neither is
    # taken away while the other one is.

    def _is_spared(self, process: Process) -> bool:
        """Return whether a process must not crash by itself now: its node has no warden."""
        return any(
            machine.process is process and not machine.warden.works
            for machine in self._cluster.machines.values()
        )

    def _warden_crash(self) -> None:
        machine = self._machine()
        if self._replaces_wardens(machine):
            machine.warden.kill()

    def _warden_pause(self) -> None:
        machine = self._machine()
        if self._replaces_wardens(machine):
            machine.warden.pause()

    @staticmethod
    def _replaces_wardens(machine: Machine) -> bool:
        process = machine.process
        works = process.alive and not process.paused and not machine.disk.full
        return works and not process.cut_from

    def _etcd_outage(self) -> None:
        store = self._cluster.store
        store.set_quorum(quorum=False)
        self._later(lambda: store.set_quorum(quorum=True))

    def _etcd_full(self) -> None:
        store = self._cluster.store
        store.full = True
        self._later(lambda: setattr(store, "full", False))

    def _member_crash(self) -> None:
        members = self._cluster.store.members
        member = self._random.choice(members.all)
        members.crash(member)
        self._later(lambda: members.start(member))

    def _member_apart(self) -> None:
        store = self._cluster.store
        member = self._random.choice(store.members.all)
        store.members.part(member, revision=store.revision)
        self._later(lambda: store.members.join(member))

    def _member_elected(self) -> None:
        self._cluster.store.members.depose()

    def _lease_revoked(self) -> None:
        leases = self._cluster.store.lease_ids
        if leases and self._cluster.store.quorum:
            self._cluster.store.revoke(self._random.choice(leases))

    def _compaction(self) -> None:
        self._cluster.store.compact(self._cluster.store.revision)

    def _docker_hiccup(self) -> None:
        engine = self._machine().engine
        engine.available = False
        self._later(lambda: setattr(engine, "available", True))

    def _disk_full(self) -> None:
        machine = self._machine()
        if machine.warden.works:  # A starting agent reads its memory before all else.
            machine.disk.full = True
            self._later(lambda: setattr(machine.disk, "full", False))

    def _reboot(self) -> None:
        self._cluster.reboot(self._machine().node_id)
        self._later(self._cluster.restart_dead)

    def _machine_lost(self) -> None:
        machine = self._machine()
        machine.broken = True
        self._cluster.reboot(machine.node_id)

        def repaired() -> None:
            machine.broken = False
            self._cluster.restart_dead()

        seconds = self._random.uniform(*LOST_S)
        asyncio.get_running_loop().call_later(seconds, repaired)

    def _cut(self, process: Process) -> None:
        """Cut a process off from one, two or all members."""
        process.cut_from = frozenset(self._random.sample(IDS, self._random.choice((1, 2, 3, 3))))
        process.alone = self._random.random() < ALONE
        self._later(process.join)

    def _checkpoint_damaged(self) -> None:
        """Damage a kept checkpoint, of those with another whole one to fall back to."""
        checker = self._cluster.checker
        checks = checker.checkpoints
        found = []
        for app in checker.state.apps.values():
            whole = [c for c in app.checkpoints if not checks.is_damaged(app.app_id, c.position)]
            if len(whole) > 1:
                found.append((app.app_id, whole[0].position))
        if found:
            app_id, position = self._random.choice(found)
            checks.damaged(app_id, position)
            self._cluster.storage.damage(app_id, position, self._random)

    def _zombie_write(self) -> None:
        """Write into the directory of a generation that is gone, as a container cut off does."""
        apps = [app for app in self._cluster.checker.state.apps.values() if app.last_generation > 1]
        if apps:
            app = self._random.choice(apps)
            generation = self._random.randint(1, app.last_generation - 1)
            self._cluster.storage.write_late(app.app_id, generation)

    def _machine(self) -> Machine:
        node_id = self._random.choice(sorted(self._cluster.machines))
        return self._cluster.machines[node_id]
