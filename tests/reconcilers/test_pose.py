"""A state as the problem that is decided on, and when that problem is settled."""

import attrs
import pytest

from events.apps import SpeedPoint
from events.catalog import Event
from events.layouts import LayoutQuality, join
from events.policy import RESTART_MS
from events.state import ClusterState
from reconcilers import layout
from reconcilers.layout import AppRequest, problem_hash
from reconcilers.layout.pose import pose
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    amount,
    an_app,
    app_cancel_requested,
    app_cancelled,
    app_changed,
    app_quarantined,
    app_unquarantined,
    checkpoint_requested,
    container_exited,
    container_started,
    generation_stopped,
    layout_configured,
    layout_due,
    node_lost,
    node_returned,
)
from tests.reconcilers.situations import fair, pinned


def request(state: ClusterState, app_id: str = "a") -> AppRequest:
    """What this application asks for in the snapshot of the state."""
    return next(app for app in pose(state).snapshot.apps if app.app_id == app_id)


# Snapshots


def test_times_come_from_the_state_alone() -> None:
    """An auditor has no clock, and must see who had waited and rested for how long."""
    state = fair(
        a_node("n1"),
        an_app("a"),
        an_app("w", min=9, max=9),
        a_layout({"a": {"n1": 4}}),
        a_layout({"a": {"n1": 3}}, generation=2),
        a_generation("a", generation=2),
        layout_due(70_000),
    )

    assert (70_000, 0) == (request(state).ran_ms, request(state).waited_ms)
    assert (None, 70_000) == (request(state, "w").ran_ms, request(state, "w").waited_ms)


def test_a_first_start_is_no_disturbance() -> None:
    """Who has just come can be asked at once to make room for the next one."""
    state = fair(a_node("n1"), an_app("a"), a_layout({"a": {"n1": 4}}))

    assert request(state).ran_ms is None


def test_a_restart_costs_what_it_was_measured_to_or_half_a_minute() -> None:
    """Until an application was moved, nobody knows."""
    state = fair(a_node("n1"), an_app("a"), a_layout({"a": {"n1": 4}}), a_generation("a"))
    app = state.apps["a"]
    known = attrs.evolve(app, measured=attrs.evolve(app.measured, restart_ms=7_000))

    assert RESTART_MS == request(state).restart_ms
    assert 7_000 == request(attrs.evolve(state, apps={"a": known})).restart_ms


def test_what_restarts_in_any_case_is_free_to_be_changed() -> None:
    """One of its nodes is gone, so it neither rests nor costs another restart."""
    state = fair(
        a_node("n1"),
        a_node("n2"),
        an_app("a"),
        a_layout({"a": {"n1": 2, "n2": 2}}),
        node_lost("n2"),
    )

    actual = request(state)

    assert ({"n1": 2}, None, 0, False) == (
        actual.placement,
        actual.ran_ms,
        actual.restart_ms,
        actual.is_evicted,
    )


def test_what_is_about_to_restart_can_still_be_given_another_size() -> None:
    """Its containers are saving their work; the next size is not there yet, and costs the same."""
    resizing = (
        a_node("n1"),
        an_app("a"),
        a_layout({"a": {"n1": 4}}),
        a_generation("a"),
        a_layout({"a": {"n1": 3}}, generation=2),
    )

    assert (None, 0) == (request(fair(*resizing)).ran_ms, request(fair(*resizing)).restart_ms)
    done = fair(
        *resizing,
        checkpoint_requested("a"),
        container_exited("a"),
        generation_stopped("a"),
        a_generation("a", generation=2),
    )
    assert request(done).ran_ms is not None


def test_who_has_less_than_the_minimum_left_is_evicted() -> None:
    """It is served before all that wait; who never had anything is not."""
    state = fair(
        a_node("n1"),
        a_node("n2"),
        an_app("a", min=3),
        an_app("w"),
        a_layout({"a": {"n1": 2, "n2": 2}}),
        node_lost("n2"),
    )

    assert (True, False) == (request(state).is_evicted, request(state, "w").is_evicted)


def test_room_of_pinned_and_held_apps_is_not_available() -> None:
    """Shares are still fractions of the whole cluster."""
    (offer,) = pose(fair(*pinned())).snapshot.nodes

    assert amount(cpus=4, memory_gib=16) == offer.capacity
    assert amount(cpus=2, memory_gib=14) == offer.room


def test_a_quarantined_app_keeps_what_it_has_and_asks_for_nothing() -> None:
    """The optimizer fell over it; whoever runs goes on."""
    cluster: list[Event] = [a_node("n1"), an_app("a"), an_app("b", max=9)]
    state = fair(*cluster, a_layout({"a": {"n1": 1}, "b": {"n1": 1}}), app_quarantined("a"))

    assert ["b"] == [app.app_id for app in pose(state).snapshot.apps]
    assert ["b"] == list(join(layout.plan(state)))


def test_racks_priorities_and_promised_speeds_reach_the_snapshot() -> None:
    """What a user or an operator wrote is what is decided from."""
    speed = (SpeedPoint(containers=1, speed=1.0), SpeedPoint(containers=4, speed=3.0))
    state = fair(
        a_node("n1", labels={"rack": "row1/r7"}),
        a_node("n2", labels={"rack": "no", "dorm.rack": "row1/r8"}),
        an_app("a", priority=3, speed=speed),
    )

    assert ["row1/r7", "row1/r8"] == [node.rack for node in pose(state).snapshot.nodes]
    assert (3, speed) == (request(state).priority, request(state).speed)


# Settled states

CLUSTER: list[Event] = [a_node("n1"), an_app("a"), an_app("b", max=1), a_layout({"a": {"n1": 1}})]


def test_a_decision_that_changes_nothing_settles_the_state() -> None:
    """So that the next wake-up costs a hash and no solver."""
    events: list[Event] = [a_node("n1"), an_app("a", max=1), a_layout({"a": {"n1": 1}})]

    (decision,) = layout.plan(fair(*events))

    assert {} == decision.changes
    assert () == layout.plan(fair(*events, decision))


@pytest.mark.parametrize(
    "event",
    [
        a_node("n2"),
        a_node("n1", cpus=3),
        a_node("n1", gpus=1),
        a_node("n1", labels={"rack": "r2"}),
        node_lost("n1"),
        an_app("c"),
        app_changed("a", weight=2.0),
        app_changed("a", scale=(2, 4)),
        app_changed("a", priority=1),
        app_cancel_requested("a"),
        app_quarantined("a"),
        layout_configured(policy="static"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_whatever_a_layout_depends_on_poses_another_problem(event: Event) -> None:
    """A change that were missed here would never be answered."""
    assert problem_hash(fair(*CLUSTER)) != problem_hash(fair(*CLUSTER, event))


@pytest.mark.parametrize(
    "event",
    [
        a_layout({"a": {"n1": 3}}, generation=2, decision_id="d2"),
        a_generation("a", "n1"),
        layout_due(),
        a_node("n1", incarnation="n1-2", address="elsewhere"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_the_answer_and_the_time_are_no_part_of_the_problem(event: Event) -> None:
    """Else every decision would call for the next one."""
    assert problem_hash(fair(*CLUSTER)) == problem_hash(fair(*CLUSTER, event))


def test_the_last_prices_are_a_hint_and_no_part_of_the_problem() -> None:
    """They save the optimizer time; a decision that were due again for them would never end."""
    quality = LayoutQuality(prices={"0/cpu": 0.5})
    decision = attrs.evolve(a_layout({"a": {"n1": 2}}, decision_id="d2"), quality=quality)
    before, after = fair(*CLUSTER), fair(*CLUSTER, decision)

    assert {} == pose(before).snapshot.prices
    assert {"0/cpu": 0.5} == pose(after).snapshot.prices
    assert problem_hash(before) == problem_hash(after)


def test_an_app_on_its_way_out_makes_one_decision_due_not_two() -> None:
    """Its room counts as free from the cancel on; its end changes nothing."""
    cancelled = [*CLUSTER, a_generation("a", "n1"), app_cancel_requested("a")]

    assert problem_hash(fair(*cancelled)) == problem_hash(
        fair(*cancelled, container_exited("a"), generation_stopped("a"), app_cancelled("a"))
    )


def test_containers_that_end_on_a_pinned_app_make_room() -> None:
    """Nobody can stop them, but each that is gone is a place more."""
    assert problem_hash(fair(*pinned())) != problem_hash(
        fair(*pinned(), container_exited("a", rank=0))
    )


def test_a_node_that_was_only_away_changes_nothing() -> None:
    """The layout was right before, and is again."""
    more: list[Event] = [node_lost("n1"), node_returned("n1")]

    assert problem_hash(fair(*CLUSTER)) == problem_hash(fair(*CLUSTER, *more))


@pytest.mark.parametrize(
    "event",
    [
        layout_due(),
        layout_configured(policy="drf", min_run_ms=0),
    ],
    ids=lambda event: type(event).__name__,
)
def test_time_and_rules_make_a_settled_state_due_again(event: Event) -> None:
    """The same problem is decided once more, since another answer may be right by now."""
    settled = [*CLUSTER, *layout.plan(fair(*CLUSTER))]

    assert () == layout.plan(fair(*settled))
    assert () != layout.plan(fair(*settled, event))


def test_a_quarantine_that_ends_is_decided_on() -> None:
    """Whoever asks for another try gets one."""
    events = [*CLUSTER, app_quarantined("a")]
    events += layout.plan(fair(*events))

    assert () == layout.plan(fair(*events))
    assert () != layout.plan(fair(*events, app_unquarantined("a")))


def test_a_change_that_came_too_late_leaves_the_state_unsettled() -> None:
    """The app went on while its next partition was worked out, so it is decided again."""
    decision = layout.plan(fair(*CLUSTER))
    overtaken = [*CLUSTER, a_generation("a", "n1"), container_started("a")]

    assert "" != fair(*CLUSTER, *decision).settled
    assert "" == fair(*overtaken, *decision).settled


def test_another_policy_may_be_asked_for() -> None:
    """The fallback of a leader whose solver fails, and the audit of what it decided."""
    (decision,) = layout.plan(fair(*CLUSTER), "static")

    assert "static/1" == decision.policy
    assert decision.quality is not None
    assert "static/1" == decision.quality.version


def test_without_applications_there_is_nothing_to_decide() -> None:
    """A hundred machines that report for the first time are no hundred decisions."""
    assert () == layout.plan(fair(a_node("n1"), a_node("n2")))
