"""What holds for every layout decision, in every situation.

Two kinds of histories: a cluster that the real reconcilers drive while users and machines do as
they please, where plans follow upon plans; and any histories at all, with decisions that no
algorithm of ours would make, which a plan must survive.
"""

from collections.abc import Iterator
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from events.apps import Scale
from events.catalog import Event
from events.fold import apply
from events.layouts import LayoutDecided, Partition, join, size
from events.log import MemoryLog
from events.recorded import Recorded
from events.state import App, ClusterState, live_members
from reconcilers import layout, lifecycle, pending, rollout
from reconcilers.audit import Verdict, retake
from reconcilers.layout.problem import Treatment, problem_of, treatment
from reconcilers.layout.validate import problems
from reconcilers.reasons import ReasonCode
from tests import builders as b
from tests.histories import histories
from tests.reconcilers.situations import FAIRLY

APP_IDS = ("a", "b", "c", "d", "e")
NODE_IDS = ("n1", "n2", "n3")
PASSES_MAX = 50


def partitions(state: ClusterState) -> dict[str, Partition]:
    """What each unfinished app is granted."""
    return {app.app_id: app.partition for app in state.apps.values()}


class Cluster:
    """A history that grows, and the state that it adds up to."""

    def __init__(self, rules: Event = FAIRLY) -> None:
        """Begin with nothing but rules."""
        self.log, self.state = MemoryLog(), ClusterState()
        self.tell(rules)

    def tell(self, *events: Event) -> None:
        """Append facts."""
        for event in events:
            self.state = apply(self.state, self.log.record(event, stamp=b.BY_TEST))

    def settle(self) -> None:
        """Let lifecycle, layout and rollout act until all are content."""
        for _ in range(PASSES_MAX):
            # No wait is over by itself; a move ends it.
            ended = lifecycle.plan(self.state, {})
            self.tell(*ended)
            self.decide()
            steps = rollout.plan(self.state)
            self.tell(*steps)
            if not ended and not steps:
                return
        raise AssertionError("the reconcilers never settle")

    def decide(self) -> None:
        """Take the layout decision, and check it."""
        before, decision = self.state, layout.plan(self.state)
        self.tell(*decision)
        check_decision(before, decision, self.state)


def check_decision(
    before: ClusterState, decision: tuple[LayoutDecided, ...], after: ClusterState
) -> None:
    """Fail unless the decision is sound, fair, repeatable, final and needed."""
    changes = join(decision)
    assert decision == layout.plan(before), "not deterministic"
    assert () == layout.plan(after), "not settled"
    assert () == problems(after, partitions(after))
    for app_id, change in changes.items():
        app, kind = before.apps[app_id], treatment(before, before.apps[app_id])
        assert change.partition != app.partition, "changed to what it was"
        assert change.reason
        assert kind in {Treatment.CONTENDS, Treatment.HELD}, f"{app_id} is {kind.value}"
        assert kind is Treatment.CONTENDS or not change.partition, "held, and resized"
    if not problems(before, partitions(before)):
        assert all(change.partition for change in changes.values()), "evicted"
        if before.rules.policy == "drf":
            check_gain(before, set(changes), after)


def check_gain(before: ClusterState, changed: set[str], after: ClusterState) -> None:
    """Where nothing was broken: whoever is disturbed is so for a gain in fairness."""
    old, new = partitions(before), partitions(after)
    assert not changed or shares(before, new) > shares(before, old)


def shares(state: ClusterState, granted: dict[str, Partition]) -> list[Fraction]:
    """Weighted dominant shares of the contenders, the poorest first: the greater, the fairer."""
    problem = problem_of(state)
    return sorted(
        app.demand.dominant_share(problem.total)
        * size(granted[app.app_id])
        / Fraction(app.spec.weight)
        for app in problem.contenders
    )


# A cluster that is driven by the real reconcilers


def moves(state: ClusterState) -> Iterator[Event]:
    """What users, machines and containers may do next, apart from new arrivals."""
    for app in state.apps.values():
        yield from _moves_of(app)
    for node in state.nodes.values():
        yield b.node_returned(node.node_id) if node.lost else b.node_lost(node.node_id)
        if node.lost:
            yield b.node_forgotten(node.node_id)


def _moves_of(app: App) -> Iterator[Event]:
    if app.backoff:
        yield b.app_requeued(app.app_id)
    yield b.app_cancel_requested(app.app_id)
    if (generation := app.generation) is None:
        return
    for member in generation.live:
        rank, node_id, number = member.rank, member.node_id, generation.number
        yield b.container_started(app.app_id, rank=rank, node_id=node_id, generation=number)
        for exit_code in (0, 1):
            yield b.container_exited(
                app.app_id, rank=rank, node_id=node_id, generation=number, exit_code=exit_code
            )


@st.composite
def apps(draw: st.DrawFn, app_id: str) -> Event:
    """An app that is small enough to meet others on a node."""
    low = draw(st.integers(1, 3))
    return b.an_app(
        app_id,
        cpus=draw(st.sampled_from((0.5, 1, 1.5, 3))),
        memory_gib=draw(st.integers(1, 4)),
        gpus=draw(st.sampled_from((0, 0, 1, 2))),
        min=low,
        max=low + draw(st.integers(0, 5)),
        weight=draw(st.sampled_from((1.0, 1.0, 0.1, 0.3, 2.5))),
    )


@st.composite
def nodes(draw: st.DrawFn, node_id: str) -> Event:
    """A node, or the same node with other capacity."""
    return b.a_node(
        node_id,
        cpus=draw(st.integers(1, 6)),
        memory_gib=draw(st.integers(2, 12)),
        gpus=draw(st.integers(0, 4)),
    )


@st.composite
def changes(draw: st.DrawFn, app_id: str) -> Event:
    """New bounds or a new weight."""
    low = draw(st.integers(1, 4))
    scale = Scale(min=low, max=low + draw(st.integers(0, 4)))
    return draw(
        st.sampled_from(
            (
                b.app_changed(app_id, scale=(scale.min, scale.max)),
                b.app_changed(app_id, weight=draw(st.sampled_from((0.1, 1.0, 7.0)))),
            )
        )
    )


def draw_move(data: st.DataObject, state: ClusterState) -> Event:
    """Draw what happens next: a newcomer, a change, or a turn of what is there."""
    fresh = [app_id for app_id in APP_IDS if state.app(app_id) is None]
    options: list[st.SearchStrategy[Event]] = [nodes(data.draw(st.sampled_from(NODE_IDS)))]
    if fresh:
        options += [apps(fresh[0])] * 2
    if state.apps:
        options.append(changes(data.draw(st.sampled_from(sorted(state.apps)))))
    if possible := list(moves(state)):
        options += [st.sampled_from(possible)] * 4
    return data.draw(st.one_of(options))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_every_decision_of_a_living_cluster_is_sound_and_can_be_taken_again(
    data: st.DataObject,
) -> None:
    """After each fact: valid, settled, within bounds, for a gain; and an auditor repeats it."""
    cluster = Cluster()
    for _ in range(data.draw(st.integers(1, 25))):
        cluster.tell(draw_move(data, cluster.state))
        cluster.settle()
        check_reasons(cluster.state)

    assert {Verdict.EQUAL} >= {retaken.verdict for retaken in retake(cluster.log.recorded)}


@settings(max_examples=25, deadline=None)
@given(data=st.data(), policy=st.sampled_from(("goodput", "utilization")))
def test_every_decision_of_the_optimizer_is_sound_and_can_be_taken_again(
    data: st.DataObject, policy: str
) -> None:
    """The same with the solver, also while applications rest and time goes by."""
    rests_ms = data.draw(st.sampled_from((0, 60_000)))
    cluster = Cluster(b.layout_configured(policy=policy, min_run_ms=rests_ms))
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            cluster.tell(b.layout_due(waited_ms=40_000))
        cluster.tell(draw_move(data, cluster.state))
        cluster.settle()
        quality = cluster.state.last_decision and cluster.state.last_decision.quality
        assert not quality or not quality.fallback, quality

    assert {Verdict.EQUAL} >= {retaken.verdict for retaken in retake(cluster.log.recorded)}


def check_reasons(state: ClusterState) -> None:
    """In a settled cluster: one reason each, and nobody awaits a decision that never comes."""
    reasons = pending.explain_all(state)
    assert reasons.keys() == state.apps.keys()
    for app_id, reason in reasons.items():
        assert reason == pending.explain(state, app_id)
        assert reason.code is not ReasonCode.AWAITING_DECISION, reason
        app = state.apps[app_id]
        waits = app.phase == "pending" and not app.partition
        shortage = {ReasonCode.NO_NODES, ReasonCode.NEVER_FITS, ReasonCode.NOT_ENOUGH_ROOM}
        assert waits == (reason.code in shortage)


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_nothing_that_runs_shares_a_device_or_overfills_a_node(data: st.DataObject) -> None:
    """What the decisions promise is kept by what is really started."""
    cluster = Cluster()
    for node_id in NODE_IDS:
        cluster.tell(data.draw(nodes(node_id)))
    for app_id in APP_IDS:
        cluster.tell(data.draw(apps(app_id)))
        cluster.settle()
        for app, member in tuple(live_members(cluster.state)):
            if app.generation and app.generation.stop:
                cluster.tell(
                    b.container_exited(
                        app.app_id,
                        rank=member.rank,
                        node_id=member.node_id,
                        generation=app.generation.number,
                    )
                )
        cluster.settle()

        used = [(m.node_id, uuid) for _, m in live_members(cluster.state) for uuid in m.devices]
        assert len(used) == len(set(used))


# Any history at all


@settings(max_examples=150, deadline=None)
@given(history=histories(max_size=40))
def test_a_plan_survives_any_history_and_puts_it_right(history: tuple[Recorded, ...]) -> None:
    """Partitions that overlap, lie on unknown nodes or hold foreign devices are repaired."""
    cluster = Cluster()
    for recorded in history:
        cluster.tell(recorded.event)
        pending.explain_all(cluster.state)
    for app in tuple(cluster.state.finished.values()):
        assert pending.explain(cluster.state, app.app_id).message

    before, decision = cluster.state, layout.plan(cluster.state)
    cluster.tell(*decision)

    check_decision(before, decision, cluster.state)
