"""Where the containers go: places, devices, nodes and apps that come and go."""

import attrs
import pytest

from events.catalog import Event
from events.layouts import Slots
from events.nodes import NodeReported
from reconcilers.layout.devices import deal
from reconcilers.layout.pose import pose
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_cancel_requested,
    app_requeued,
    app_retrying,
    container_exited,
    generation_stopped,
    gpu,
    node_forgotten,
    node_lost,
    node_returned,
    stop_requested,
)
from tests.reconcilers.situations import decided, devices, fair, pinned

# Places


def test_settled_apps_are_left_alone_when_another_arrives_in_free_room() -> None:
    """Every needless restart costs someone's work."""
    actual = decided(
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=4),
        a_layout({"a": {"n1": 2, "n2": 2}}),
        an_app("b", max=2),
    )

    assert ["b"] == list(actual)


def test_a_grown_app_keeps_what_it_has() -> None:
    """The containers that are there stay there; the new ones come beside them."""
    actual = decided(
        a_node("n1", cpus=8),
        a_node("n2", cpus=2),
        an_app("a", max=4),
        a_layout({"a": {"n2": 2}}),
    )

    assert {"a": {"n1": 2, "n2": 2}} == actual


def test_a_new_app_goes_where_it_leaves_the_least_behind() -> None:
    """The large hole stays whole for who needs it."""
    actual = decided(a_node("n1", cpus=8), a_node("n2", cpus=2), an_app("a", min=2, max=2))

    assert {"a": {"n2": 2}} == actual


def test_a_gang_stays_together_where_it_can() -> None:
    """Peers on one node talk faster than over the network."""
    actual = decided(
        a_node("n1", cpus=1), a_node("n2", cpus=2), a_node("n3", cpus=3), an_app("a", min=3, max=3)
    )

    assert {"a": {"n3": 3}} == actual


def test_an_app_without_gpus_spares_the_nodes_that_have_them() -> None:
    """A GPU without a cpu beside it is lost to everybody."""
    actual = decided(a_node("n1", cpus=2, gpus=2), a_node("n2", cpus=8), an_app("a", max=2))

    assert {"a": {"n2": 2}} == actual


def test_a_container_goes_nowhere_when_no_node_is_large_enough() -> None:
    """Ten nodes of one cpu are no node of two."""
    nodes = [a_node(f"n{number}", cpus=1) for number in range(10)]

    assert {} == decided(*nodes, an_app("a", cpus=2))


def test_an_empty_cluster_decides_nothing() -> None:
    """The reconciler is total: no node, no share, no division by zero."""
    assert {} == decided(an_app("a"), an_app("b", gpus=1))


# Devices


def test_every_container_gets_whole_devices_of_its_own() -> None:
    """Two trainings on one GPU spoil each other's memory."""
    actual = devices(a_node("n1", gpus=4), an_app("a", gpus=1, max=2), an_app("b", gpus=2, max=1))

    assert (2, 2) == (len(actual["a"]), len(actual["b"]))
    assert {gpu("n1", index) for index in range(4)} == {*actual["a"], *actual["b"]}


def test_a_shrunk_app_keeps_its_own_devices() -> None:
    """Warm caches and compiled kernels stay useful."""
    has = (gpu("n1", 1), gpu("n1", 3))

    actual = devices(
        a_node("n1", gpus=4, cpus=2),
        an_app("a", gpus=1, max=2),
        a_layout({"a": {"n1": Slots(count=2, devices=has)}}),
        an_app("b", gpus=1),
    )

    assert {"a": (gpu("n1", 1),), "b": (gpu("n1", 0),)} == actual


def test_a_container_that_comes_back_in_one_decision_has_its_devices_again() -> None:
    """Given away and regained while a layout is worked out must not read as a change."""
    has = Slots(count=2, devices=(gpu("n1", 1), gpu("n1", 3)))
    app = an_app("a", gpus=1, max=3)
    state = fair(a_node("n1", gpus=4), app, a_layout({"a": {"n1": has}}))
    posed = pose(state)

    (kept,) = deal(posed.problem.contenders, {"a": {"n1": 2}}, posed.standing).values()
    (grown,) = deal(posed.problem.contenders, {"a": {"n1": 3}}, posed.standing).values()

    assert {"n1": has} == kept
    assert has.devices == grown["n1"].devices[:2]


def test_a_device_that_died_takes_only_its_own_container_with_it() -> None:
    """The node reports one GPU less; the others go on."""
    has = (gpu("n1", 0), gpu("n1", 1))
    sick = a_node("n1", gpus=2)
    cured: NodeReported = attrs.evolve(
        sick, capacity=attrs.evolve(sick.capacity, gpu_count=1), devices=sick.devices[1:]
    )

    actual = devices(
        sick,
        an_app("a", gpus=1, max=2),
        a_layout({"a": {"n1": Slots(count=2, devices=has)}}),
        cured,
    )

    assert {"a": (gpu("n1", 1),)} == actual


# Nodes that come and go


def test_an_app_that_was_not_started_moves_off_a_lost_node() -> None:
    """Nothing of it runs anywhere, so it may start elsewhere at once."""
    actual = decided(
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=2),
        a_layout({"a": {"n1": 2}}),
        node_lost("n1"),
    )

    assert {"a": {"n2": 2}} == actual


def test_an_app_with_containers_out_of_reach_is_left_alone() -> None:
    """They may be running, and cannot be stopped, so nothing may start in their stead."""
    assert {} == decided(*pinned())


def test_what_a_pinned_app_uses_on_healthy_nodes_is_not_given_away() -> None:
    """Its containers on n1 run on; only the rest of n1 is free."""
    assert {"b": {"n1": 2}} == decided(*pinned(), an_app("b", max=8))


def test_a_pinned_app_is_free_again_when_its_node_returns() -> None:
    """Its partition held all the time, so it may grow at once."""
    assert {"a": {"n1": 4, "n2": 4}} == decided(*pinned(), node_returned("n2"))


def test_a_pinned_app_moves_on_when_its_node_is_forgotten() -> None:
    """The operator vouches that nothing runs there any more."""
    assert {"a": {"n1": 4}} == decided(*pinned(), node_forgotten("n2"))


def test_on_a_node_that_shrank_what_runs_comes_before_what_was_only_granted() -> None:
    """A plan on paper never pushes out a running training."""
    actual = decided(
        a_node("n1"),
        an_app("paper", min=2, max=2),
        an_app("runs", min=2, max=2),
        a_layout({"paper": {"n1": 2}, "runs": {"n1": 2}}),
        a_generation("runs", "n1", "n1"),
        a_node("n1", cpus=3),
    )

    assert {"paper": {}} == actual


# Apps on their way


def failed() -> list[Event]:
    """Application a failed on n1, where it holds two of four cpus."""
    return [
        a_node("n1"),
        an_app("a", max=4),
        an_app("b", max=4),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        a_generation("a", "n1", "n1"),
        container_exited("a", rank=0, exit_code=1),
        container_exited("a", rank=1, exit_code=1),
        stop_requested("a", cause="failure"),
        generation_stopped("a"),
    ]


@pytest.mark.parametrize("more", [[], [app_retrying("a")]])
def test_a_failed_app_keeps_its_room_while_it_waits(more: list[Event]) -> None:
    """It would only be taken back seconds later: two restarts of others for nothing."""
    crowd = [an_app("c", min=2, max=2)]

    assert {} == decided(*failed(), *more, *crowd)


def test_a_failed_app_contends_again_after_its_wait() -> None:
    """Only now may it grow, shrink or make room."""
    actual = decided(*failed(), app_retrying("a"), app_requeued("a"), an_app("c", min=2, max=2))

    assert {"a": {"n1": 1}, "b": {"n1": 1}, "c": {"n1": 2}} == actual


def test_a_waiting_app_that_failed_is_given_nothing_before_its_wait_is_over() -> None:
    """Room that nobody uses would be taken from who could use it."""
    actual = decided(*failed(), app_retrying("a"), node_lost("n1"), a_node("n2", cpus=4))

    assert {"a": {}, "b": {"n2": 4}} == actual


def test_a_failed_app_whose_room_is_gone_gives_up_all_of_it() -> None:
    """A reservation that cannot be honoured would only keep the rest from being used."""
    assert {"a": {}, "b": {"n1": 1}} == decided(*failed(), a_node("n1", cpus=1))


def test_the_room_of_a_cancelled_app_is_free() -> None:
    """Its containers are on their way out; rollout waits until they are gone."""
    actual = decided(
        a_node("n1"),
        an_app("a"),
        an_app("b"),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        a_generation("a", "n1", "n1"),
        app_cancel_requested("a"),
    )

    assert {"b": {"n1": 4}} == actual


def test_an_app_whose_containers_all_ended_is_not_resized() -> None:
    """It is about to complete; its room is free a moment later."""
    actual = decided(
        a_node("n1"),
        an_app("a"),
        a_layout({"a": {"n1": 2}}),
        a_generation("a", "n1", "n1"),
        container_exited("a", rank=0),
        container_exited("a", rank=1),
    )

    assert {} == actual
