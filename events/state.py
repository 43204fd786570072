"""Everything Dorm knows at one position of the log, as one immutable value."""

from collections.abc import Iterator, Mapping
from typing import Literal

import attrs

from events.app_state import (
    App,
    Backoff,
    Checkpoint,
    Exit,
    Generation,
    Measured,
    Outcome,
    Progress,
    Stop,
)
from events.generations import Member
from events.layouts import LayoutDecided, LayoutQuality
from events.nodes import NodeReported
from events.policy import LayoutRules

__all__ = [
    "App",
    "Backoff",
    "Checkpoint",
    "ClusterState",
    "Exit",
    "Generation",
    "LastDecision",
    "Measured",
    "Node",
    "Outcome",
    "Progress",
    "Standing",
    "Stop",
    "live_members",
]

Standing = Literal["ready", "lost", "expelled", "fenced"]


@attrs.frozen(kw_only=True)
class Node:
    """One machine. A lost node keeps its last report: its containers may well be running.

    Attributes:
        lost: Its agent is silent, so nothing is placed there.
        expelled: Its tenure is over: whatever comes back runs nothing of what was there.
        fenced: Nothing of its tenure can run any more, so its containers count as gone.
        reported_revision: Where the description, the agent's incarnation apart, last changed.
    """

    report: NodeReported
    lost: bool = False
    expelled: bool = False
    fenced: bool = False
    reported_revision: int = 0

    @property
    def standing(self) -> Standing:
        """Return the one word that `dorm nodes` shows."""
        if self.fenced:
            return "fenced"
        if self.expelled:
            return "expelled"
        return "lost" if self.lost else "ready"

    @property
    def node_id(self) -> str:
        """Return the node's name."""
        return self.report.node_id


@attrs.frozen(kw_only=True)
class LastDecision:
    """The newest complete layout decision, without what it changed.

    Attributes:
        revision: Where its last part stands.
        at_ms: When, by `ClusterState.now_ms`.
        changed: How many partitions it changed.
        quality: None when it was decided by a Dorm that did not record it.
    """

    decision_id: str
    policy: str
    input_revision: int
    revision: int
    at_ms: int
    changed: int
    quality: LayoutQuality | None = None


@attrs.frozen(kw_only=True)
class ClusterState:
    """Everything Dorm knows at `revision`.

    Time in it comes from the events alone, so that everybody has the same. It never goes back,
    although the clocks of masters and agents differ: what one of them measured as a wait
    (`layout.due`) counts even if its clock is behind.

    Attributes:
        apps: Unfinished applications by id, in order of submission.
        finished: The newest `FINISHED_KEPT` finished ones, in order of their end.
        nodes: Every node ever reported and not forgotten, by id, in order of its first report.
        open_parts: Parts of layout decisions whose last part is not there yet, by decision id.
        rules: By which layouts are decided.
        last_decision: The newest complete one; None before the first.
        settled: `problem_hash` of the newest decision while it stands; empty when the layout is
            to be decided again whatever the problem is.
        now_ms: The latest time that any event knew of.
        looked_at_ms: `now_ms` at the last decision, or when the layout was last found due.
        leader: Name of the master that was elected last.
        ignored: How many events made no sense when they came, by reason. The same everywhere.
        seal: sha256 of the newest segment seal.
        sealed_segment: Number of the newest sealed segment; -1 before the first.
        unsettled: Nodes that have not entered the epoch of the store yet, with that epoch.
        store_epoch: Grows by each restore of the store that an operator vouched for.
    """

    revision: int = 0
    apps: Mapping[str, App] = attrs.field(factory=dict)
    finished: Mapping[str, App] = attrs.field(factory=dict)
    nodes: Mapping[str, Node] = attrs.field(factory=dict)
    open_parts: Mapping[str, tuple[LayoutDecided, ...]] = attrs.field(factory=dict)
    rules: LayoutRules = attrs.field(factory=LayoutRules)
    last_decision: LastDecision | None = None
    settled: str = ""
    now_ms: int = 0
    looked_at_ms: int = 0
    leader: str = ""
    epoch: int = 0
    ignored: Mapping[str, int] = attrs.field(factory=dict)
    seal: str = ""
    sealed_segment: int = -1
    store_epoch: int = 1
    unsettled: Mapping[str, int] = attrs.field(factory=dict)

    def app(self, app_id: str) -> App | None:
        """Return the application of that id, finished or not."""
        return self.apps.get(app_id) or self.finished.get(app_id)


def live_members(state: ClusterState) -> Iterator[tuple[App, Member]]:
    """Yield every container that may exist somewhere, in order of submission and rank."""
    for app in state.apps.values():
        if app.generation is not None:
            for member in app.generation.live:
                yield app, member
