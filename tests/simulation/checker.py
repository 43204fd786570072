"""The omniscient observer: sees every write and every container at once, and forgives nothing.

| | what it demands |
|---|---|
| I1 | a submit is in the log once, and ends in one terminal event; `completed` is true |
| I2 | one generation of an application runs at a time, a container runs once, gone is gone |
| I3 | nodes, devices and ports are never given twice, in the log and on the machines |
| I4 | a training goes on from the newest kept checkpoint, or an older one if it is rejected |
| I5 | only the leader writes decisions and documents; a document is the fold at its revision |
| I6 | every master, a fresh fold and an audit see the same history |
| I7 | the log is whole and in order; in the end all has converged |
| I9 | what stops with its node executes for a moment at most after its last permit has lapsed |
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dorm import labels
from dorm.keys import Keys
from dorm.ports.etcd import Compare, WatchEvent
from dorm.tenure import DRIFT, FREEZE_S_MAX
from events import chain
from events.apps import AppCancelled, AppCompleted, AppFailed, AppSubmitted
from events.catalog import KIND_OF
from events.codec import decode, from_json
from events.fold import apply, fold
from events.generations import ContainerExited, ContainerStarted
from events.invariants import violations
from events.nodes import NodeFenced
from events.recorded import Recorded
from events.snapshot import state_hash
from events.state import ClusterState
from events.units import Resources, total_of
from reconcilers import desired
from reconcilers.audit import Verdict, retake
from reconcilers.documents import NodeDocument
from tests.simulation.docker import Container
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.kept import CheckpointChecks
from tests.simulation.views import brief, leader_of

TERMINAL: Final = (AppCompleted, AppFailed, AppCancelled)

FREEZE_S: Final = FREEZE_S_MAX * (1 + DRIFT)

Key = tuple[str, int, int]


class Checker:
    """Checks the invariants at each event and at each start and end of a container.

    Attributes:
        violations: What was broken, with the virtual time; empty in a sound run.
        story: Everything that happened, one line each.
        recorded: The log, in order.
        state: Its fold.
    """

    def __init__(
        self,
        keys: Keys,
        store: EtcdStore,
        capacity: Mapping[str, Resources],
        now: Callable[[], float],
    ) -> None:
        """Watch what is written to `store`, and nodes with these capacities."""
        store.observers.append(self.written)
        store.restored.append(self.went_back)
        self._store = store
        self.violations: list[str] = []
        self.story: list[str] = []
        self.recorded: list[Recorded] = []
        self.state = ClusterState()
        self._keys, self._capacity, self._now = keys, capacity, now
        self._states: dict[int, ClusterState] = {0: self.state}
        self._pasts: list[dict[int, ClusterState]] = []  # of histories that a restore undid
        self._hashes: dict[int, str] = {}
        self._believed: dict[str, ClusterState] = {}
        self._projected: tuple[ClusterState | None, Mapping[str, NodeDocument]] = None, {}
        self._trace = hashlib.sha256()
        self._audit = chain.Audit()
        self._running: dict[Key, Container] = {}
        self._ever_started: set[tuple[Key, str]] = set()
        self._started_at: dict[Key, float] = {}
        self._reported_gone: set[Key] = set()
        self._document_revision: defaultdict[str, int] = defaultdict(int)
        self._submits: Counter[str] = Counter()
        self._ends: Counter[str] = Counter()
        self.checkpoints = CheckpointChecks(self.require, self.tell)
        self.steps: dict[str, int] = {}

    @property
    def trace_hash(self) -> str:
        """Return the hash of the whole story; equal runs have equal ones."""
        return self._trace.hexdigest()

    @property
    def running(self) -> tuple[Container, ...]:
        """Return every container that runs now, anywhere."""
        return tuple(self._running.values())

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        line = f"{self._now():9.3f} {line}"
        self.story.append(line)
        self._trace.update(line.encode())

    def require(self, holds: bool, sentence: str) -> None:  # noqa: FBT001 - reads as an assert
        """Note a violation unless `holds`."""
        if not holds:
            self.tell(f"VIOLATION {sentence}")
            self.violations.append(f"{self._now():.3f}: {sentence}")

    # What etcd sees

    def written(
        self, revision: int, compares: Sequence[Compare], changes: tuple[WatchEvent, ...]
    ) -> None:
        """See one write to etcd."""
        for change in sorted(changes, key=lambda change: change.item.key):
            key = change.item.key
            if key.startswith(self._keys.events):
                self._event_written(revision, change)
            elif change.kind == "put" and key.startswith(self._keys.desireds):
                self._document_written(compares, change)
            elif key == self._keys.leader or key.startswith(self._keys.nodes):
                self.tell(f"{change.kind} {key} at {revision}")

    def went_back(self, revision: int) -> None:
        """See the store restored to a revision: what the log had gained since then never was."""
        self.tell(f"RESTORED to {revision}")
        past = [one for one in self.recorded if one.revision <= revision]
        self.recorded, self.state = [], ClusterState()
        self._pasts.append(self._states)
        self._states, self._hashes, self._audit = {0: self.state}, {}, chain.Audit()
        self._submits, self._ends = Counter(), Counter()
        self._reported_gone, self._document_revision = set(), defaultdict(int)
        for recorded in past:
            self._take(recorded)

    def _take(self, recorded: Recorded) -> None:
        """Take an event of the past again."""
        self.recorded.append(recorded)
        self.state = self._states[recorded.revision] = apply(self.state, recorded)
        for sentence in self._audit.feed(recorded):
            self.require(holds=False, sentence=f"I7 {sentence}")
        match event := recorded.event:
            case AppSubmitted():
                self._submits[event.spec.name] += 1
            case AppCompleted() | AppFailed() | AppCancelled():
                self._ends[event.app_id] += 1
            case ContainerExited():
                self._reported_gone.add((event.app_id, event.generation, event.rank))
            case _:
                pass

    def _event_written(self, revision: int, change: WatchEvent) -> None:
        item = change.item
        if change.kind == "delete":
            return  # `tests.simulation.archived` judges that.
        self.require(item.version == 1, f"{item.key} was written twice")
        segment = int(item.key.removeprefix(self._keys.events).split("/")[0])
        recorded = decode(item.value, revision=revision, segment=segment)
        self.recorded.append(recorded)
        before = self.state
        self.state = self._states[revision] = apply(before, recorded)
        ignored = " (ignored)" if before.ignored != self.state.ignored else ""
        self.tell(f"{revision} {KIND_OF[type(recorded.event)]} {brief(recorded)}{ignored}")
        for sentence in self._audit.feed(recorded):
            self.require(holds=False, sentence=f"I7 {sentence}")
        for sentence in violations(self.state):
            self.require(holds=False, sentence=f"I3 at {revision}: {sentence}")
        self._check_event(recorded)
        if not ignored:
            self.checkpoints.event(recorded, before)
        role, _, name = recorded.stamp.actor.partition("/")
        leader = leader_of(self._store, self._keys)
        self.require(
            role != "master" or name == leader,
            f"I5 {name} wrote {recorded.event_id}, {leader} leads",
        )

    def _check_event(self, recorded: Recorded) -> None:
        match event := recorded.event:
            case AppSubmitted():
                self._submits[event.spec.name] += 1
                self.require(
                    self._submits[event.spec.name] == 1, f"I1 {event.spec.name} submitted twice"
                )
            case AppCompleted() | AppFailed() | AppCancelled():
                self._ends[event.app_id] += 1
                self.require(self._ends[event.app_id] == 1, f"I1 {event.app_id} ended twice")
                if isinstance(event, AppCompleted):
                    done = self.checkpoints.steps.get(event.app_id, 0) >= self.steps.get(
                        event.app_id, 0
                    )
                    self.require(done, f"I1 {event.app_id} is called completed but is not")
            case ContainerStarted(app_id=app_id, generation=generation, rank=rank):
                key = app_id, generation, rank
                started = any(key == one for one, _ in self._ever_started)
                self.require(started, f"I6 {key} reported started, never ran")
            case ContainerExited(app_id=app_id, generation=generation, rank=rank):
                key = app_id, generation, rank
                self.require(key not in self._running, f"I2 {key} reported gone while it runs")
                self._reported_gone.add(key)
                saved = self.checkpoints.steps.get(app_id, 0)
                self.require(
                    (event.checkpoint_step or 0) <= saved,
                    f"I4 {key} reports checkpoint {event.checkpoint_step}, saved is {saved}",
                )
            case NodeFenced(node_id=node_id, tenure=tenure):
                self._check_fenced(node_id, tenure)
            case _:
                pass

    def _check_fenced(self, node_id: str, tenure: str) -> None:
        """Demand that what counts as gone executes nothing, and see it as gone from here on."""
        for container in self._running.values():
            group_tenure, kind = container.group
            if container.node_id == node_id and group_tenure == tenure:
                self._reported_gone.add(container.key)
                self.require(
                    container.frozen or kind == "keep",
                    f"I2 {container.launch.name} runs on, and its node {node_id} is called fenced",
                )

    def _document_written(self, compares: Sequence[Compare], change: WatchEvent) -> None:
        document = from_json(change.item.value, NodeDocument)
        node_id = document.node_id
        wanted = [f"{c.name}{'!' if c.stop else ''}" for c in document.containers]
        self.tell(f"document {node_id} from {document.revision}: {' '.join(wanted)}")
        self.require(
            any(c.key == self._keys.leader and c.target == "create" and c.value for c in compares),
            f"I5 the document of {node_id} was written without the leader compare",
        )
        self.require(
            document.revision >= self._document_revision[node_id],
            f"I5 the document of {node_id} went back from {self._document_revision[node_id]}"
            f" to {document.revision}",
        )
        self._document_revision[node_id] = document.revision
        states = [past.get(document.revision) for past in (self._states, *self._pasts)]
        expected = [desired.documents(state).get(node_id) for state in states if state]
        self.require(
            document in expected, f"I5 {node_id}'s document is no fold at {document.revision}"
        )

    def _expected(self, revision: int) -> Mapping[str, NodeDocument]:
        """Return the documents of a revision; kept for the other nodes' of the same one."""
        state = self._states.get(revision)
        if self._projected[0] is not state:
            self._projected = state, desired.documents(state) if state else {}
        return self._projected[1]

    # What the machines do

    def container_started(self, container: Container) -> None:
        """See a container run."""
        key = container.key
        self.tell(f"start {container.launch.name} on {container.node_id}")
        once = key, container.launch.labels[labels.ORIGIN]
        self.require(once not in self._ever_started, f"I2 {key} started twice")
        self.require(key not in self._reported_gone, f"I2 {key} started after its end was reported")
        self._alone(container)
        self._ever_started.add(once)
        self._started_at[key] = self._now()
        self._running[key] = container
        used = total_of(
            other.launch.demand
            for other in self._running.values()
            if other.node_id == container.node_id
        )
        capacity = self._capacity[container.node_id]
        self.require(used.fits_in(capacity), f"I3 {container.node_id} is overfilled: {used}")
        for other in self._running.values():
            shared = set(other.launch.devices) & set(container.launch.devices)
            self.require(
                other is container or not shared,
                f"I3 {container.launch.name} and {other.launch.name} share {sorted(shared)}",
            )

    def container_frozen(self, container: Container) -> None:
        """See a container stand still."""
        self.tell(f"freeze {container.launch.name}")

    def container_thawed(self, container: Container) -> None:
        """See a container run on."""
        self.tell(f"thaw {container.launch.name}")
        self.require(
            container.key not in self._reported_gone,
            f"I2 {container.key} thawed after its end was reported",
        )
        self._alone(container)

    def _alone(self, container: Container) -> None:
        """Demand that no other generation executes anything, unless the spec lets it run on."""
        for other in self._running.values():
            executes = not other.frozen and not container.frozen
            kept = "keep" in {other.group[1], container.group[1]}
            if other.app_id == container.app_id and executes and not kept:
                self.require(
                    other.generation == container.generation,
                    f"I2 generations {other.generation} and {container.generation}"
                    f" of {container.app_id} run at once",
                )

    def container_ended(self, container: Container) -> None:
        """See a container end."""
        self.tell(f"end {container.launch.name} with {container.exit_code}")
        self._running.pop(container.key, None)

    def training_began(self, app_id: str, generation: int, step: int | None) -> None:
        """See a training go on from `step`."""
        self.checkpoints.began(self.state, app_id, generation, step)

    def checkpoint_saved(self, app_id: str, generation: int, step: int) -> None:
        """See a whole checkpoint in the directory of its generation."""
        self.checkpoints.saved(app_id, generation, step)

    def wardens_seen(self, node_id: str, frozen_from: Callable[[str], float]) -> None:
        """Demand that what executes on a node may do so, or could until a moment ago.

        Args:
            node_id: Of a node whose warden works.
            frozen_from: From when on the containers of a tenure have had to stand still.
        """
        for container in self._running.values():
            tenure, kind = container.group
            if container.node_id == node_id and kind == "stop" and not container.frozen:
                since = max(frozen_from(tenure), self._started_at[container.key])
                self.require(
                    self._now() - since <= FREEZE_S,
                    f"I9 {container.launch.name} executes on {node_id}, which had to freeze it"
                    f" {self._now() - since:.2f} s ago",
                )

    # What masters believe

    def believed(self, master: str, state: ClusterState) -> None:
        """Compare a master's state with the fold of the log up to the same revision."""
        if self._believed.get(master) is state:
            return  # States do not change; the master has read nothing since the last look.
        self._believed[master] = state
        revision = state.revision
        if any(past.get(revision) == state for past in self._pasts):
            return  # It has not found out yet, or holds.
        known = self._states.get(revision)
        self.require(known is not None, f"I6 {master} is at revision {revision}, which is no event")
        if known is None:
            return
        if revision not in self._hashes:
            self._hashes[revision] = state_hash(known)
        self.require(
            state_hash(state) == self._hashes[revision],
            f"I6 {master} has another state at revision {revision}",
        )

    # The end

    def missing(self) -> list[str]:
        """Return what is left to do; nothing when all has converged."""
        missing = [f"{app_id} is {app.phase}" for app_id, app in self.state.apps.items()]
        missing += [f"{container.launch.name} runs" for container in self.running]
        missing += [f"node {node_id} is lost" for node_id, n in self.state.nodes.items() if n.lost]
        return missing

    def audit(self) -> None:
        """Read the whole history again, as `dorm-events verify` and `replay` do."""
        self.require(
            state_hash(fold(self.recorded)) == state_hash(self.state),
            "I6 a fold of the whole history gives another state",
        )
        for decision in retake(self.recorded):
            self.require(
                decision.verdict is Verdict.EQUAL,
                f"I6 decision {decision.decision_id} at {decision.revision} is"
                f" {decision.verdict}: {'; '.join(decision.differences)}",
            )

    def acknowledged(self, name: str, app_id: str) -> None:
        """Check a receipt: the log holds this submit already, under this id."""
        apps = [
            recorded.event.app_id
            for recorded in self.recorded
            if isinstance(recorded.event, AppSubmitted) and recorded.event.spec.name == name
        ]
        self.tell(f"acknowledged {name} as {app_id}")
        self.require(apps == [app_id], f"I1 {name} acknowledged as {app_id}, the log has {apps}")
