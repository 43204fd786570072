"""The six steps of the demo, each a short function: do something, wait, check."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import attrs

from deploy.demo.history import Stretch, check_course, claim, restarted, saved_steps, stretch_of
from deploy.demo.observer import Apps, Observer, at_step, sizes
from deploy.demo.screen import Screen
from dorm.local.cluster import LocalCluster
from dorm.local.commands import run

SPEC: Final = Path(__file__).resolve().parents[1] / "examples/digits/app.yaml"
STEPS: Final = {"first": 900, "second": 130, "third": 600}
STEP_COST_MS: Final = 300  # for a whole batch: 50 ms a step on six containers
EVENTS_PER_PAGE: Final = 500
SOON_S: Final = 60.0
LONG_S: Final = 150.0
STILL_S: Final = 3.0  # how long nothing may restart after a fault was overcome


@attrs.frozen
class Demo:
    """The demo on a running cluster."""

    cluster: LocalCluster
    observer: Observer
    screen: Screen

    def play(self) -> None:
        """Play all steps.

        Raises:
            ClaimFailed: A claim was not true.
            Unavailable: No master answered in time.
        """
        self.one_takes_all()
        self.others_arrive()
        self.one_completes()
        self.leader_dies()
        self.agent_dies()
        self.all_complete()
        self.trainings_went_on()
        self.history_agrees()

    def one_takes_all(self) -> None:
        """An application that is alone gets the whole cluster."""
        self.screen.head(2, "One training takes the whole cluster")
        self.submit("first")
        self.wait_for("`first` has 6 containers", sizes(first=6))
        self.wait_for("`first` trains", at_step("first", 60), timeout_s=LONG_S)
        self.screen.checked("`first` trains on 6 containers over 3 nodes, the whole cluster")

    def others_arrive(self) -> None:
        """Later ones get their fair share, and the running one shrinks for them."""
        self.screen.head(3, "Two more arrive: the first saves its work and goes on smaller")
        self.submit("second")
        self.submit("third")
        shares = sizes(first=2, second=2, third=2)
        self.wait_for("all three have 2 containers", shares, timeout_s=LONG_S)
        self.screen.checked("fair shares: 2 containers each")

    def one_completes(self) -> None:
        """What a finished application leaves goes to the others."""
        self.wait_for("`second` completes", _completed("second"), timeout_s=LONG_S)
        self.screen.say("`second` is done; its share goes to the others")
        self.wait_for("the others have 3 containers", sizes(first=3, third=3), timeout_s=LONG_S)
        self.screen.checked("`first` and `third` grew to 3 containers each")

    def leader_dies(self) -> None:
        """A dead leader costs nothing but a few seconds without decisions."""
        self.screen.head(4, "The leading master is killed")
        before = self.observer.containers()
        leader = self.leader()
        self.observer.killed.add(leader)
        self.cluster.masters[leader].kill()
        self.screen.say(f"{leader} led, and got SIGKILL")
        began_at = time.monotonic()
        self.wait_for("the other master leads", lambda _: self.leader() not in ("", leader))
        took_s = time.monotonic() - began_at
        self.wait_still()
        claim(not restarted(before, self.observer.containers()), "a container restarted")
        self.screen.checked(
            f"{self.leader()} took over after {took_s:.1f} s; none of {len(before)} containers "
            "restarted"
        )
        self.cluster.masters[leader].restart()
        self.observer.killed.discard(leader)
        self.screen.say(f"{leader} is back, as the second master")

    def agent_dies(self) -> None:
        """Containers outlive their agent, and the next agent finds them."""
        self.screen.head(5, "An agent is killed and started again")
        before = self.observer.containers()
        agent, reports = self.cluster.agents["n2"], self.reports_of("n2")
        self.observer.killed.add(agent.name)
        agent.kill()
        self.screen.say("the agent of n2 got SIGKILL; its containers run on")
        self.wait_still()
        agent.restart()
        self.observer.killed.discard(agent.name)
        self.wait_for("the new agent reports", lambda _: self.reports_of("n2") > reports)
        self.wait_still()
        claim(not restarted(before, self.observer.containers()), "a container restarted")
        self.screen.checked("the new agent adopted the containers of n2; none restarted")

    def all_complete(self) -> None:
        """Everything that was submitted comes to its end."""
        self.screen.head(6, "All complete, and the history agrees")
        for name in ("third", "first"):
            self.wait_for(f"`{name}` completes", _completed(name), timeout_s=LONG_S)
            self.screen.say(f"`{name}` is done")

    def trainings_went_on(self) -> None:
        """No resize lost a step that was saved, and learning went on over all of them."""
        events, apps = self.events(), self.observer.look()
        for name, row in apps.items():
            course = self.course(row["id"], row["generation"])
            check_course(name, course, saved_steps(events, row["id"]))
            claim(course[-1].last_step == STEPS[name], f"{name} ended at {course[-1]}")
            self.screen.checked(f"`{name}` lost no saved step, and its loss fell all the way:")
            for stretch in course:
                self.screen.quote(f"generation {stretch.generation}: {stretch}")

    def history_agrees(self) -> None:
        """The log alone, read without any master, tells the same as both masters do."""
        self.screen.say("$ dorm-events replay")
        self.screen.quote(self.dorm_events("replay"))
        self.screen.say("$ dorm-events verify")
        self.screen.quote(self.dorm_events("verify"))
        self.wait_for("all masters have read the same", lambda _: len(self.hashes()) == 1)
        (masters_say,) = self.hashes()
        replayed = sha256(self.dorm_events("replay", "-o", "json").strip().encode()).hexdigest()
        verified = json.loads(self.dorm_events("verify", "-o", "json"))
        claim(verified["state_hash"] == masters_say, "verify and the masters have other states")
        claim(replayed == masters_say, "replay and the masters have other states")
        self.screen.checked(
            f"the masters, replay and verify have the same state {masters_say[:16]} after "
            f"{verified['events']} events"
        )

    def wait_for(
        self, what: str, holds: Callable[[Apps], bool], *, timeout_s: float = SOON_S
    ) -> None:
        """See `Observer.wait_for`."""
        self.observer.wait_for(what, holds, timeout_s=timeout_s)

    def wait_still(self) -> None:
        """Go on looking for a moment, in which something could go wrong."""
        ends_at = time.monotonic() + STILL_S
        self.wait_for("a moment passes", lambda _: time.monotonic() > ends_at)

    def submit(self, name: str) -> None:
        """Submit the digits training under a name, as a user would."""
        changes = {
            "name": name,
            "env.STEPS": f'"{STEPS[name]}"',
            "env.STEP_COST_MS": f'"{STEP_COST_MS}"',
            "env.SEED": f'"{len(name)}"',
        }
        options = [word for change in changes.items() for word in ("--set", "=".join(change))]
        answer = run(
            [self._program("dorm"), "submit", os.fspath(SPEC), *options, "-o", "json"],
            timeout_s=SOON_S,
            env={"DORM_MASTERS": ",".join(self.cluster.master_urls.values())},
        )
        self.screen.say(f"$ dorm submit app.yaml --set name={name}: {json.loads(answer)['id']}")

    def leader(self) -> str:
        """Return the name of the master that leads, or nothing."""
        for name in self.cluster.masters:
            if name not in self.observer.killed:
                status = self.status(name)
                if status["is_leader"]:
                    return name
        return ""

    def reports_of(self, node_id: str) -> int:
        """Return how often an agent of the node has come up and described it."""
        return sum(
            event["kind"] == "node.reported/2" and event["data"]["node_id"] == node_id
            for event in self.events()
        )

    def hashes(self) -> set[str]:
        """Return the different states that the masters have."""
        return {self.status(name)["state_hash"] for name in self.cluster.masters}

    def status(self, master: str) -> dict[str, Any]:
        """Return what one master says of the cluster."""
        with contextlib.closing(self.cluster.client(master)) as client:
            return client.status()

    def events(self) -> list[dict[str, Any]]:
        """Return all events."""
        found: list[dict[str, Any]] = []
        after = 0
        while True:  # each turn reads one page, up to the last
            page = self.observer.client.events(after=after, limit=EVENTS_PER_PAGE)
            found += page["events"]
            if page["at_end"]:
                return found
            after = page["next"]

    def course(self, app_id: str, generations: int) -> Sequence[Stretch]:
        """Return what each generation of an application did, from the output of its rank 0."""
        found = []
        for generation in range(1, generations + 1):
            params = {"rank": 0, "generation": generation}
            with self.observer.client.logs(app_id, params=params) as chunks:
                stretch = stretch_of(b"".join(chunks).decode())
            if stretch:
                found.append(stretch)
        claim(bool(found), f"{app_id} has no output")
        return found

    def dorm_events(self, *words: str) -> str:
        """Return what `dorm-events` prints about this cluster."""
        options = ["--etcd", self.cluster.endpoints, "--cluster", self.cluster.shape.cluster]
        return run([self._program("dorm-events"), *words, *options], timeout_s=SOON_S)

    @staticmethod
    def _program(name: str) -> str:
        return os.fspath(Path(sys.executable).with_name(name))


def _completed(name: str) -> Callable[[Apps], bool]:
    return lambda apps: name in apps and apps[name]["phase"] == "completed"
