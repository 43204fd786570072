"""What a measurement needs: a quiet cluster with some trainings, and eyes for it while it runs."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs
import docker

from dorm.keys import Keys
from events.catalog import Event
from events.codec import decode
from events.errors import DormError, Unavailable
from events.generations import GenerationStarted
from tests.chaos import journal
from tests.chaos.faults import Fault
from tests.chaos.injector import Injector
from tests.chaos.journal import boottime
from tests.chaos.lab import IMAGE, Lab
from tests.chaos.record import WITNESS, Diary, read_diaries
from tests.chaos.users import Errand

WAIT_S: Final = 60.0
LOOK_S: Final = 0.1
FOR_EVER: Final = 1_000_000


@attrs.frozen(kw_only=True)
class Row:
    """One row of the table.

    Attributes:
        what: What was measured, for people.
        figures: One for each round, in `unit`.
        most: No figure may be above it.
    """

    what: str
    figures: tuple[float, ...]
    most: float
    unit: str = "s"

    @property
    def holds(self) -> bool:
        """Return whether everything was measured, and nothing is above the limit."""
        return bool(self.figures) and max(self.figures) <= self.most

    def __str__(self) -> str:
        """Return the row."""
        figures = ", ".join(
            f"{figure:.2f}" if self.unit == "s" else f"{figure:g}" for figure in self.figures
        )
        verdict = "" if self.holds else "   TOO MUCH"
        return f"{self.what:<72}{figures:>28} {self.unit:<11} <= {self.most:g}{verdict}"


@attrs.define
class Bench:
    """A lab with trainings that never end by themselves.

    Attributes:
        rounds: How often each measurement is repeated.
    """

    lab: Lab
    injector: Injector
    rounds: int
    _serial: int = 0

    # Applications

    def submit(self, *, size: int = 1) -> str:
        """Submit a training of that many containers and return its id."""
        self._serial += 1
        name = f"bench{self._serial}"
        errand = Errand(name=name, at_s=0, least=size, most=size, steps=FOR_EVER)
        with contextlib.closing(self.lab.programs.client(give_up_s=WAIT_S)) as client:
            return str(client.submit(errand.spec(IMAGE), key=name)["id"])

    def running(self, *, size: int = 1) -> str:
        """Submit a training, and return its id once all of its containers run."""
        app_id = self.submit(size=size)
        self.wait_for(
            f"{app_id} runs", lambda: len({one.key for one in self.diaries(app_id)}) == size
        )
        return app_id

    def cancel(self, app_id: str) -> None:
        """End a training, and wait until it is gone."""
        with contextlib.closing(self.lab.programs.client(give_up_s=WAIT_S)) as client:
            client.cancel(app_id)
            self.wait_for(f"{app_id} is gone", lambda: client.app(app_id)["phase"] == "cancelled")

    def diaries(self, app_id: str = "") -> list[Diary]:
        """Return what containers have written down so far, of one application or of all."""
        found = read_diaries(self.lab.journal.folder / WITNESS)
        return [diary for diary in found if app_id in {"", diary.app_id}]

    # The log

    def events(self, *, after_s: float = 0.0) -> Iterator[tuple[float, str, Event]]:
        """Yield when each event was seen by a watch, who wrote it, and the event."""
        prefix = Keys(self.lab.programs.cluster).events
        for line in journal.read(self.lab.journal.folder / f"{journal.ETCD}.jsonl"):
            if float(line["at"]) > after_s and line.get("key", "").startswith(prefix):
                recorded = decode(line["value"].encode(), revision=int(line["revision"]), segment=0)
                yield float(line["at"]), recorded.stamp.actor, recorded.event

    def node_of(self, app_id: str) -> str:
        """Return the node of an application's first container, by its newest generation."""
        nodes = [
            event.members[0].node_id
            for _, _, event in self.events()
            if isinstance(event, GenerationStarted) and event.app_id == app_id
        ]
        return nodes[-1]

    def last_renewal_s(self, node: str, *, fence_s: float) -> float:
        """Return when the request was sent by which a node's right was extended last."""
        return max(
            float(line["permit"]["deadline_s"]) - fence_s
            for line in journal.read(self.lab.journal.folder / f"{journal.PERMITS}.jsonl")
            if line["node"] == node
        )

    # Containers

    def processes(self) -> Mapping[str, tuple[int, str]]:
        """Return process id and start of every running container, by name."""
        client = docker.APIClient(base_url=self.lab.programs.docker_url, timeout=10)
        with contextlib.closing(client):
            found = [
                client.inspect_container(listed["Id"])
                for listed in client.containers(filters={"label": self.lab.programs.label})
            ]
        return {
            one["Name"].lstrip("/"): (one["State"]["Pid"], one["State"]["StartedAt"])
            for one in found
        }

    # Faults

    @contextlib.contextmanager
    def suffering(self, kind: str, target: str, other: str = "") -> Iterator[float]:
        """Let a fault last for the block; yields when it began."""
        fault = Fault(at_s=0, lasts_s=0, kind=kind, target=target, other=other)
        began_s = boottime()
        undo = self.injector.begin(fault)
        try:
            yield began_s
        finally:
            undo()

    # Waiting

    def quiet(self) -> None:
        """Wait until the cluster is whole: a leader, all nodes, and some time to settle."""
        self.lab.programs.wait_until_ready()
        time.sleep(2.0)

    def wait_for(self, what: str, holds: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever holds
        """Return the first true answer.

        Raises:
            Unavailable: There was none in time.
        """
        ends_at = time.monotonic() + WAIT_S
        while time.monotonic() < ends_at:
            with contextlib.suppress(DormError):
                answer = holds()
                if answer:
                    return answer
            time.sleep(LOOK_S)
        raise Unavailable(f"after {WAIT_S:.0f} s still not: {what}")
