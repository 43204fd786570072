"""The phases of a resize, and the room that a new generation needs."""

from events.catalog import Event
from events.generations import Member
from events.layouts import Slots
from reconcilers import rollout
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_cancel_requested,
    app_requeued,
    app_retrying,
    checkpoint_requested,
    container_exited,
    container_started,
    generation_stopped,
    gpu,
    node_lost,
    state_of,
    stop_requested,
)
from tests.story import given


def four_running() -> list[Event]:
    """Application a holds all four cpus of n1."""
    return [
        a_node("n1", cpus=4),
        an_app("a"),
        a_layout({"a": {"n1": 4}}),
        a_generation("a", "n1", "n1", "n1", "n1"),
        *(container_started("a", rank=rank) for rank in range(4)),
    ]


def a_shrinks_for_b() -> list[Event]:
    """A new layout gives half of n1 to b."""
    return [
        *four_running(),
        an_app("b"),
        a_layout({"a": {"n1": 2}}, generation=2, reason="4 -> 2 containers"),
        a_layout({"b": {"n1": 2}}, generation=1, decision_id="d2"),
    ]


def a_is_asked_and_gone() -> list[Event]:
    """The first generation of a has saved its work and is gone."""
    return [
        *a_shrinks_for_b(),
        checkpoint_requested("a"),
        *(container_exited("a", rank=rank, checkpoint_step=7) for rank in range(4)),
    ]


def test_a_first_generation_starts_in_free_room() -> None:
    """Ranks go over the nodes in order; every container has a port of its own."""
    story = given(a_node("n2"), a_node("n1"), an_app("a"), a_layout({"a": {"n1": 1, "n2": 2}}))

    (started,) = story.when(rollout.plan).planned

    members = started.members  # type: ignore[union-attr]
    assert [(0, "n1"), (1, "n2"), (2, "n2")] == [(m.rank, m.node_id) for m in members]
    assert [20_000, 20_000, 20_001] == [m.port for m in members]


def test_a_running_generation_is_asked_to_save_before_anything_else() -> None:
    """And b waits: its room is still taken."""
    given(*a_shrinks_for_b()).when(rollout.plan).then(checkpoint_requested("a"))


def test_a_request_is_made_once() -> None:
    """While the containers save their work there is nothing to do."""
    given(*a_shrinks_for_b(), checkpoint_requested("a")).when(rollout.plan).then()


def test_room_opens_only_when_the_last_container_is_gone() -> None:
    """Three of four gone leaves room for b, but a's next generation must wait for all four."""
    story = given(
        *a_shrinks_for_b(),
        checkpoint_requested("a"),
        *(container_exited("a", rank=rank) for rank in range(3)),
    )

    (started,) = story.when(rollout.plan).planned

    assert "b" == started.app_id


def test_a_generation_whose_containers_are_gone_is_stopped() -> None:
    """In the same step b starts: its room is free."""
    kinds = [type(step).__name__ for step in rollout.plan(state_of(*a_is_asked_and_gone()))]

    assert ["GenerationStopped", "GenerationStarted"] == kinds


def test_the_next_generation_starts_with_the_next_number() -> None:
    """Resumed at the new size."""
    story = given(*a_is_asked_and_gone(), generation_stopped("a"))

    first = story.when(rollout.plan).planned[0]

    assert ("a", 2, 2) == (first.app_id, first.generation, len(first.members))  # type: ignore[union-attr]


def test_two_starts_in_one_step_do_not_share_room_or_ports() -> None:
    """The step counts what it has given away itself."""
    story = given(
        a_node("n1", cpus=2),
        an_app("a"),
        an_app("b"),
        an_app("c"),
        a_layout({"a": {"n1": 1}, "b": {"n1": 1}, "c": {"n1": 1}}),
    )

    steps = story.when(rollout.plan).planned

    assert [("a", 20_000), ("b", 20_001)] == [(s.app_id, s.members[0].port) for s in steps]  # type: ignore[union-attr]


def test_devices_are_dealt_out_in_order_and_never_shared() -> None:
    """Each container gets its own, and a device in use elsewhere blocks the start."""
    slots = Slots(count=2, devices=(gpu("n1", 0), gpu("n1", 1)))
    history: list[Event] = [
        a_node("n1", gpus=2),
        an_app("a", gpus=1),
        a_layout({"a": {"n1": slots}}),
    ]

    (started,) = given(*history).when(rollout.plan).planned

    assert (
        Member(rank=0, node_id="n1", port=20_000, devices=(gpu("n1", 0),)),
        Member(rank=1, node_id="n1", port=20_001, devices=(gpu("n1", 1),)),
    ) == started.members  # type: ignore[union-attr]
    given(
        *history,
        a_generation("a", "n1", "n1", gpus=1),
        an_app("b", gpus=1, cpus=0.1),
        a_layout({"b": {"n1": Slots(count=1, devices=(gpu("n1", 1),))}}, decision_id="d2"),
    ).when(rollout.plan).then()


def test_nobody_on_a_lost_node_is_asked_to_stop() -> None:
    """It could not be done, and half a stopped generation helps nobody."""
    given(*a_shrinks_for_b(), node_lost("n1")).when(rollout.plan).then()


def test_an_app_in_backoff_waits_with_its_room_reserved() -> None:
    """It starts again in the same place, under the next number, when the wait is over."""
    history: list[Event] = [
        *four_running(),
        *(container_exited("a", rank=rank, exit_code=1) for rank in range(4)),
        stop_requested("a", cause="failure", reason="container 0 failed"),
        generation_stopped("a"),
        app_retrying("a"),
    ]

    given(*history).when(rollout.plan).then()
    (started,) = given(*history, app_requeued("a")).when(rollout.plan).planned
    assert 2 == started.generation


def test_a_cancelled_app_starts_nothing() -> None:
    """Even when a layout has just given it room."""
    given(a_node("n1"), an_app("a"), a_layout({"a": {"n1": 1}}), app_cancel_requested("a")).when(
        rollout.plan
    ).then()


def test_a_start_needs_ports() -> None:
    """A node without a free port takes no container."""
    given(
        a_node("n1", port_min=20_000, port_max=20_000), an_app("a"), a_layout({"a": {"n1": 2}})
    ).when(rollout.plan).then()
