"""Carries faults out, and undoes them."""

import contextlib
import heapq
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from itertools import count
from random import Random
from typing import Final

import docker
import requests
from docker.errors import DockerException

from dorm import cgroups
from dorm.local.processes import Child
from dorm.warden import mounts
from tests.chaos.faults import LEADER, Fault
from tests.chaos.journal import FAULTS, Journal
from tests.chaos.network import CUT, DEAF, MUTE, Network, Rule
from tests.chaos.programs import MASTERS, MEMBERS, Programs

STEP_S: Final = 0.05
RESTART_S: Final = 1.0  # after which a supervisor starts what has ended by itself


class Injector:
    """Breaks a cluster by a plan, keeps it supervised, and leaves it whole."""

    def __init__(
        self, journal: Journal, network: Network, programs: Programs, *, random: Random
    ) -> None:
        """Take the record, and what is to be broken."""
        self._journal, self._network, self._programs = journal, network, programs
        self._random = random
        self._down: set[str] = set()

    def run(self, plan: Sequence[Fault]) -> None:
        """Carry a plan out; returns when the last fault is over."""
        began, order = time.monotonic(), count()
        agenda: list[tuple[float, int, Callable[[], None]]] = []

        def at(when_s: float, act: Callable[[], None]) -> None:
            heapq.heappush(agenda, (when_s, next(order), act))

        def begin(fault: Fault) -> None:
            undo = self.begin(fault)
            at(time.monotonic() - began + fault.lasts_s, lambda: self._end(fault, undo))

        for fault in plan:
            at(fault.at_s, lambda fault=fault: begin(fault))  # type: ignore[misc]
        while agenda:
            if time.monotonic() - began >= agenda[0][0]:
                heapq.heappop(agenda)[2]()
            else:
                time.sleep(STEP_S)
            self.supervise()

    def begin(self, fault: Fault) -> Callable[[], None]:
        """Let a fault begin, and return what ends it."""
        target = fault.target
        if target == LEADER:
            target = self._programs.leader() or self._random.choice(MASTERS)
        self._journal.note(FAULTS, what="begins", kind=fault.kind, target=target, told=str(fault))
        special: dict[str, Callable[[], Callable[[], None]]] = {
            "container.kill": self._kill_container,
            "quorum.freeze": lambda: self._freeze(*self._random.sample(MEMBERS, 2)),
            "node.off": lambda: self._switch_off(target),
            "warden.kill": lambda: self._kill_warden(target),
        }
        general: dict[str, Callable[[], Callable[[], None]]] = {
            "kill": lambda: self._kill(target),
            "stop": lambda: self._stop(target),
            "freeze": lambda: self._freeze(target),
            "cut": lambda: self._drop(target, CUT),
            "deaf": lambda: self._drop(target, DEAF),
            "mute": lambda: self._drop(target, MUTE),
            "part": lambda: self._drop(target, self._network.parted(fault.other)),
        }
        act = special.get(fault.kind) or general[fault.kind.partition(".")[2]]
        return act()

    def supervise(self) -> None:
        """Start what has ended by itself, as systemd would, and write down that it did."""
        for name, child in self._programs.children.items():
            if name not in self._down and not child.running:
                words = child.last_words()
                self._journal.note(FAULTS, what="ended by itself", target=name, words=words)
                time.sleep(RESTART_S)
                child.restart()

    def _end(self, fault: Fault, undo: Callable[[], None]) -> None:
        undo()
        self._journal.note(FAULTS, what="is over", kind=fault.kind, target=fault.target)

    def _child(self, name: str) -> Child:
        return self._programs.children[name]

    def _kill(self, name: str) -> Callable[[], None]:
        self._down.add(name)
        self._child(name).kill()
        return lambda: self._restart(name)

    def _stop(self, name: str) -> Callable[[], None]:
        self._down.add(name)
        self._child(name).ask_to_stop()

        def restart() -> None:
            self._child(name).stop()
            self._restart(name)

        return restart

    def _restart(self, name: str) -> None:
        self._child(name).restart()
        self._down.discard(name)

    def _freeze(self, *names: str) -> Callable[[], None]:
        for name in names:
            self._child(name).freeze()

        def thaw() -> None:
            for name in names:
                self._child(name).thaw()

        return thaw

    def _drop(self, host: str, rules: Sequence[Rule]) -> Callable[[], None]:
        self._network.drop(host, rules)
        return lambda: self._network.mend(host, rules)

    def _switch_off(self, node: str) -> Callable[[], None]:
        """Let a machine lose its power: all that runs on it ends at once, without a word.

        The nodes share an engine that does not end with them. So the node's cgroup stays frozen
        meanwhile: a start that the engine had on its way executes nothing.
        """
        kernel = mounts.find().guarded
        group = kernel.root / cgroups.of_node(self._programs.cluster, node).lstrip("/")
        restart = self._kill(node)
        self._kill_warden(node)
        with contextlib.suppress(FileNotFoundError):
            kernel.freeze(group)
            kernel.kill(group)
        shutil.rmtree(self._programs.run_dir(node), ignore_errors=True)

        def switch_on() -> None:
            with contextlib.suppress(FileNotFoundError):
                kernel.kill(group)
                kernel.thaw(group)
            restart()

        return switch_on

    def _kill_warden(self, node: str) -> Callable[[], None]:
        """Kill a warden; its agent starts another."""
        _kill_pid(self._programs.warden_pid(node) or 0)
        return lambda: None

    def _kill_container(self) -> Callable[[], None]:
        pids = self._containers()
        if pids:
            _kill_pid(self._random.choice(pids))
        return lambda: None

    def _containers(self) -> list[int]:
        """Return the first process of each running container, by pid."""
        try:
            client = docker.APIClient(base_url=self._programs.docker_url, timeout=2)
            with contextlib.closing(client):
                listed = client.containers(filters={"label": self._programs.label})
                return [client.inspect_container(one["Id"])["State"]["Pid"] for one in listed]
        except (DockerException, requests.exceptions.RequestException):
            return []


def _kill_pid(pid: int) -> None:
    if pid > 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
