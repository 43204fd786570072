"""The fold, rule by rule: what each event changes, and when it makes no sense."""

import attrs
import pytest

from events.catalog import Event
from events.errors import Corrupt
from events.fold import FINISHED_KEPT, apply, fold
from events.generations import GenerationStarted
from events.layouts import size
from events.state import App, ClusterState, Exit
from tests import builders as b

RUNNING = (
    b.a_node("n1"),
    b.an_app("a"),
    b.a_layout({"a": {"n1": 2}}),
    b.a_generation("a", "n1", "n1"),
    b.container_started("a", rank=0),
    b.container_started("a", rank=1),
)
RESIZING = (*RUNNING, b.a_layout({"a": {"n1": 1}}, generation=2), b.checkpoint_requested("a"))
FAILED = (
    *RUNNING,
    b.container_exited("a", rank=0, exit_code=1, checkpoint_step=10),
    b.stop_requested("a", cause="failure", reason="container 0 ended with exit code 1"),
    b.container_exited("a", rank=1, exit_code=143),
    b.generation_stopped("a"),
)


def app_after(*events: Event) -> App:
    """The application `a` after these events, of which none was senseless."""
    state = b.state_of(*events)
    assert {} == state.ignored
    app = state.app("a")
    assert app is not None
    return app


def test_a_submitted_app_waits_behind_the_older_ones() -> None:
    """Order of submission is the order in which equals are served."""
    state = b.state_of(b.an_app("b"), b.an_app("a"), b.app_cancel_requested("b"))

    assert ["b", "a"] == list(state.apps)
    assert ("user/ann", 2, "pending") == (
        state.apps["a"].user,
        state.apps["a"].submitted_revision,
        state.apps["a"].phase,
    )


def test_a_change_keeps_what_it_does_not_name() -> None:
    """A new weight must not reset the bounds, nor the other way round."""
    app = app_after(
        b.an_app("a", min=1, max=4),
        b.app_changed("a", weight=3.0),
        b.app_changed("a", scale=(2, 5)),
        b.app_changed("a", priority=7),
    )

    assert (3.0, 7) == (app.spec.weight, app.spec.priority)
    assert (2, 5) == (app.spec.scale.min, app.spec.scale.max)


def test_a_running_app_has_seen_all_its_containers() -> None:
    """`dorm ps` says starting until the last one is there."""
    assert "starting" == app_after(*RUNNING[:-1]).phase
    assert "running" == app_after(*RUNNING).phase


def test_a_layout_moves_the_target_and_no_container() -> None:
    """Containers follow by the rollout; until then the old generation counts."""
    app = app_after(*RUNNING, b.a_layout({"a": {"n1": 1}}, generation=2, input_revision=6))

    assert (1, 2, 6) == (size(app.partition), app.target_generation, app.input_revision)
    assert app.generation is not None
    assert (1, 2) == (app.generation.number, len(app.generation.live))


def test_a_decision_in_parts_waits_for_its_last_part() -> None:
    """Half a decision could overfill a node that the other half makes room on."""
    submits = (b.an_app("a"), b.an_app("c"))
    first = b.a_layout({"a": {"n1": 1}}, part=1, parts=2)
    second = b.a_layout({"c": {"n1": 1}}, part=2, parts=2)

    waiting = b.state_of(*submits, first)
    whole = b.state_of(*submits, first, second)

    assert (first,) == waiting.open_parts["d1"]
    assert [0, 0] == [app.target_generation for app in waiting.apps.values()]
    assert [1, 1] == [app.target_generation for app in whole.apps.values()]
    assert {} == whole.open_parts


def test_a_new_decision_drops_an_unfinished_one() -> None:
    """Its leader is gone; nobody will ever write the rest."""
    half = b.a_layout({"a": {"n1": 1}}, part=1, parts=2)
    state = b.state_of(b.an_app("a"), half, b.a_layout({"a": {"n2": 1}}, decision_id="d2"))

    assert {} == state.open_parts
    assert ["n2"] == list(state.apps["a"].partition)


def test_a_decision_skips_apps_that_went_on_without_it() -> None:
    """A partition with a used-up generation number could never be started."""
    app = app_after(*RUNNING, b.a_layout({"a": {"n1": 1}, "gone": {"n1": 1}}, generation=1))

    assert (2, 1) == (size(app.partition), app.target_generation)


def test_a_resize_runs_from_request_to_the_next_generation() -> None:
    """The room of the old generation is only free when its last container is gone."""
    gone = (
        b.container_exited("a", rank=0, checkpoint_step=40),
        b.container_exited("a", rank=1),
    )
    assert "resizing" == app_after(*RESIZING).phase

    stopped = app_after(*RESIZING, *gone, b.generation_stopped("a"))
    assert (None, 1, 40, "") == (
        stopped.generation,
        stopped.resizes,
        stopped.checkpoint_step,
        stopped.failure,
    )

    started = app_after(
        *RESIZING, *gone, b.generation_stopped("a"), b.a_generation("a", "n1", generation=2)
    )
    assert ("starting", 2) == (started.phase, started.last_generation)


def test_a_saved_step_never_goes_back() -> None:
    """A late report of an older checkpoint must not look like lost progress."""
    app = app_after(
        *RUNNING,
        b.container_exited("a", rank=0, checkpoint_step=40),
        b.container_exited("a", rank=1, checkpoint_step=30),
    )

    assert 40 == app.checkpoint_step


def test_a_failure_waits_for_an_answer_and_then_for_its_time() -> None:
    """A failure that nobody answered must not be forgotten by a change of leader."""
    failed = app_after(*FAILED)
    assert ("backoff", "container 0 ended with exit code 1", True) == (
        failed.phase,
        failed.failure,
        failed.failure_counts,
    )

    waiting = app_after(*FAILED, b.app_retrying("a", attempt=1))
    assert ("", 1, 10, 2) == (
        waiting.failure,
        waiting.failures,
        waiting.failed_step,
        waiting.target_generation,
    )
    assert waiting.backoff is not None

    assert "pending" == app_after(*FAILED, b.app_retrying("a"), b.app_requeued("a")).phase


def test_a_final_failure_is_of_its_generation_alone() -> None:
    """What failed for good may be mended by its user, and then fail in another way."""
    final = app_after(
        *RUNNING,
        b.container_exited("a", exit_code=None, reason="start_error", final=True),
        b.stop_requested("a", cause="failure"),
        b.container_exited("a", rank=1, exit_code=143),
        b.generation_stopped("a"),
    )
    assert final.failure_final

    assert not app_after(*FAILED).failure_final


def test_a_cancel_overrules_a_resize_under_way() -> None:
    """The user must not wait for a checkpoint of what is thrown away."""
    app = app_after(*RESIZING, b.app_cancel_requested("a"), b.stop_requested("a", cause="cancel"))

    assert "cancelling" == app.phase


@pytest.mark.parametrize(
    ("event", "kind", "reason"),
    [
        (b.app_completed("a"), "completed", ""),
        (b.app_failed("a", reason="no such image"), "failed", "no such image"),
        (b.app_cancelled("a"), "cancelled", ""),
    ],
)
def test_an_app_ends_once_and_frees_everything(event: Event, kind: str, reason: str) -> None:
    """Exactly one terminal event; what it held goes to the others."""
    gone = (b.container_exited("a", rank=0), b.container_exited("a", rank=1))
    state = b.state_of(*RUNNING, *gone, event, b.app_completed("a"))
    app = state.finished["a"]

    assert app.outcome is not None
    assert (kind, reason, kind) == (app.outcome.kind, app.outcome.reason, app.phase)
    assert (None, {}, {}) == (app.generation, app.partition, state.apps)
    assert {"finished app": 1} == state.ignored


def test_only_the_newest_finished_apps_are_kept() -> None:
    """A state stays small however long the cluster runs."""
    events = [
        event
        for number in range(FINISHED_KEPT + 2)
        for event in (b.an_app(f"a{number}"), b.app_cancelled(f"a{number}"))
    ]
    state = b.state_of(*events)

    assert FINISHED_KEPT == len(state.finished)
    oldest, *_, newest = state.finished
    assert ("a2", f"a{FINISHED_KEPT + 1}") == (oldest, newest)


def test_a_lost_node_keeps_its_containers_until_it_is_forgotten() -> None:
    """Lost contact is not death: they may well be running."""
    lost = b.state_of(*RUNNING, b.node_lost("n1"))
    forgotten = b.state_of(*RUNNING, b.node_lost("n1"), b.node_forgotten("n1"))
    gone = Exit(exit_code=None, reason="lost", message="node n1 was forgotten")

    assert lost.nodes["n1"].lost
    assert "running" == lost.apps["a"].phase
    assert {} == forgotten.nodes
    generation = forgotten.apps["a"].generation
    assert generation is not None
    assert {0: gone, 1: gone} == generation.exits


@pytest.mark.parametrize("event", [b.node_returned("n1"), b.a_node("n1")])
def test_a_node_is_back_by_its_lease_or_by_its_report(event: Event) -> None:
    """Both come from a living agent."""
    assert not b.state_of(b.a_node("n1"), b.node_lost("n1"), event).nodes["n1"].lost


def test_an_agent_that_only_started_again_has_not_changed_its_machine() -> None:
    """Else every restart would excuse a node from the check of what it holds."""
    same = b.state_of(b.a_node("n1"), b.a_node("n1", incarnation="n1-2")).nodes["n1"]
    smaller = b.state_of(b.a_node("n1"), b.a_node("n1", cpus=2)).nodes["n1"]

    assert (1, "n1-2") == (same.reported_revision, same.report.incarnation)
    assert 2 == smaller.reported_revision


def test_the_newest_leader_and_seal_are_known() -> None:
    """The next seal names the one before; the API names the leader."""
    state = b.state_of(b.leader_elected("m1", epoch=7), b.segment_sealed(0, sha256="cd"))

    assert ("m1", 7, "cd", 0) == (state.leader, state.epoch, state.seal, state.sealed_segment)


def test_a_generation_is_known_by_the_event_that_started_it_and_a_store_by_its_epoch() -> None:
    """After a restore the same numbers come again, for other containers."""
    state = b.state_of(*RUNNING, b.store_epoch_began(2))
    history = b.history(*RUNNING)
    (start,) = [one for one in history if isinstance(one.event, GenerationStarted)]
    generation = state.apps["a"].generation

    assert generation is not None
    assert (start.event_id, 2) == (generation.origin, state.store_epoch)
    assert 1 == b.state_of(*RUNNING).store_epoch


LIVE = b.container_exited("a", rank=0)
SENSELESS = [
    ("app id is taken", (b.an_app("a"),), b.an_app("a")),
    ("app id is taken", (b.an_app("a"), b.app_cancelled("a")), b.an_app("a")),
    ("unknown app", (), b.app_changed("a", weight=2.0)),
    ("unknown app", (), b.app_cancel_requested("a")),
    ("finished app", (b.an_app("a"), b.app_failed("a")), b.app_cancel_requested("a")),
    ("nothing to retry", (b.an_app("a"),), b.app_retrying("a")),
    ("nothing to retry", RUNNING, b.app_retrying("a")),
    ("app is not waiting", (b.an_app("a"),), b.app_requeued("a")),
    ("containers are still there", RUNNING, b.app_completed("a")),
    ("containers are still there", RESIZING, b.generation_stopped("a")),
    ("unknown node", (), b.node_lost("n1")),
    ("unknown node", (), b.node_returned("n1")),
    ("unknown node", (), b.node_forgotten("n1")),
    ("node is lost already", (b.a_node("n1"), b.node_lost("n1")), b.node_lost("n1")),
    ("node is not lost", (b.a_node("n1"),), b.node_returned("n1")),
    ("node is not lost", (b.a_node("n1"),), b.node_forgotten("n1")),
    ("part of a decision out of turn", (), b.a_layout({}, part=2, parts=2)),
    (
        "part of a decision out of turn",
        (b.a_layout({}, part=1, parts=3),),
        b.a_layout({}, part=1, parts=3),
    ),
    ("an older generation is still there", RUNNING, b.a_generation("a", "n1", generation=2)),
    ("generation number is used up", FAILED, b.a_generation("a", "n1", generation=1)),
    ("generation on an unknown node", (b.an_app("a"),), b.a_generation("a", "n1")),
    ("generation is not the running one", RUNNING, b.checkpoint_requested("a", generation=2)),
    ("generation is not the running one", (b.an_app("a"),), b.stop_requested("a")),
    ("generation is not the running one", RUNNING, b.container_started("a", generation=2)),
    ("generation is not the running one", FAILED, b.generation_stopped("a")),
    ("the generation is already stopping", RESIZING, b.checkpoint_requested("a")),
    (
        "the generation is already stopping",
        (*RUNNING, b.stop_requested("a", cause="failure")),
        b.stop_requested("a", cause="cancel"),
    ),
    ("rank is not in the generation", RUNNING, b.container_exited("a", rank=2)),
    ("rank is not in the generation", RUNNING, b.container_exited("a", rank=-1)),
    ("rank belongs to another node", RUNNING, b.container_exited("a", node_id="n2")),
    ("container is already gone", (*RUNNING, LIVE), LIVE),
    ("container already started", RUNNING, b.container_started("a")),
    (
        "nobody asked the generation to stop",
        (*RUNNING, LIVE, b.container_exited("a", rank=1)),
        b.generation_stopped("a"),
    ),
    (
        "app is quarantined already",
        (*RUNNING, b.app_quarantined("a")),
        b.app_quarantined("a", reason="another"),
    ),
    ("app is not quarantined", RUNNING, b.app_unquarantined("a")),
    ("unknown app", (), b.app_quarantined("a")),
    ("leader of an older epoch", (b.leader_elected(epoch=2),), b.leader_elected(epoch=1)),
    ("segment is already sealed", (b.segment_sealed(1),), b.segment_sealed(1)),
    ("settled in another store epoch", (b.a_node("n1"),), b.node_settled("n1", epoch=2)),
    (
        "node is settled already",
        (b.a_node("n1"), b.store_epoch_began(2), b.node_settled("n1", epoch=2)),
        b.node_settled("n1", epoch=2),
    ),
    ("store epoch has begun before", (b.store_epoch_began(2),), b.store_epoch_began(2)),
]


@pytest.mark.parametrize(("reason", "before", "event"), SENSELESS)
def test_a_senseless_event_is_counted_and_changes_nothing_else(
    reason: str, before: tuple[Event, ...], event: Event
) -> None:
    """Each is possible in good health, and must be the same no-op on every master.

    Only time passes: the event was written at some time, whatever it said.
    """
    history = b.history(*before, event)
    state = fold(history[:-1])
    after = fold(history)

    assert {reason: 1} == after.ignored
    unchanged = attrs.evolve(state, revision=after.revision, now_ms=after.now_ms)
    assert unchanged == attrs.evolve(after, ignored={})


def test_a_history_that_goes_back_is_refused() -> None:
    """The order of the log is what all masters agree on; without it nothing can be trusted."""
    first, second = b.history(b.a_node("n1"), b.a_node("n2"))

    with pytest.raises(Corrupt, match="at revision 1 after 2"):
        fold((second, first))


def test_the_state_before_is_not_touched() -> None:
    """Readers hold on to a state while the fold goes on."""
    history = b.history(*RUNNING, LIVE)
    before = fold(history[:-1])
    copy = attrs.evolve(before, apps=dict(before.apps), nodes=dict(before.nodes))

    assert before != apply(before, history[-1])
    assert copy == before
    assert ClusterState() == fold(())
