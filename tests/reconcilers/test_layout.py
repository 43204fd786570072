"""Who gets how many containers, and where."""

import attrs
import pytest

from events.catalog import Event
from events.layouts import CHANGES_PER_PART_MAX, LayoutDecided, Slots, join
from events.nodes import NodeReported
from reconcilers import layout
from reconcilers.layout.claims import lay_out
from reconcilers.layout.placement import ANY_SHARE, make_way
from reconcilers.layout.problem import pose
from reconcilers.layout.validate import problems
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    app_cancel_requested,
    app_changed,
    app_requeued,
    app_retrying,
    checkpoint_requested,
    container_exited,
    generation_stopped,
    gpu,
    node_forgotten,
    node_lost,
    node_returned,
    state_of,
    stop_requested,
)

Counts = dict[str, dict[str, int]]


def decided(*events: Event) -> Counts:
    """The partitions that change in this situation, as counts by app and node."""
    return {
        app_id: {node_id: slots.count for node_id, slots in change.partition.items()}
        for app_id, change in join(layout.plan(state_of(*events))).items()
    }


def reasons(*events: Event) -> dict[str, str]:
    """The reasons of the changes in this situation."""
    changes = join(layout.plan(state_of(*events)))
    return {app_id: change.reason for app_id, change in changes.items()}


def devices(*events: Event) -> dict[str, tuple[str, ...]]:
    """The devices on n1 by app, of the partitions that change."""
    changes = join(layout.plan(state_of(*events)))
    return {app_id: change.partition["n1"].devices for app_id, change in changes.items()}


# Sizes


def test_the_first_app_takes_the_whole_cluster() -> None:
    """An idle machine helps nobody."""
    actual = decided(a_node("n1"), a_node("n2"), an_app("a", max=9))

    assert {"a": {"n1": 4, "n2": 4}} == actual


def test_nobody_gets_more_than_scale_max() -> None:
    """The user knows from where on more containers do not help."""
    events: list[Event] = [a_node("n1", cpus=8), an_app("a", max=3)]

    assert {"a": {"n1": 3}} == decided(*events)
    assert {"a": "3 containers; fair share 3 of 8 cpus; limited by scale.max 3"} == reasons(*events)


def test_a_second_app_takes_back_half() -> None:
    """Fairness takes what was only ever spare."""
    events: list[Event] = [a_node("n1"), an_app("a"), a_layout({"a": {"n1": 4}}), an_app("b")]

    assert {"a": {"n1": 2}, "b": {"n1": 2}} == decided(*events)
    assert {
        "a": "4 to 2 containers; fair share 2 of 4 cpus; makes room for b",
        "b": "2 containers; fair share 2 of 4 cpus; room of a",
    } == reasons(*events)


def test_equal_shares_of_different_resources_are_fair() -> None:
    """Dominant shares count: one app lives on cpu, the other on memory (NSDI 2011, section 4.1)."""
    actual = decided(
        a_node("n1", cpus=9, memory_gib=18),
        an_app("a", cpus=1, memory_gib=4, max=99),
        an_app("b", cpus=3, memory_gib=1, max=99),
    )

    assert {"a": {"n1": 3}, "b": {"n1": 2}} == actual


def test_weights_scale_the_shares() -> None:
    """Twice the weight is twice the share."""
    actual = decided(a_node("n1", cpus=9), an_app("a", max=9), an_app("b", max=9, weight=2.0))

    assert {"a": {"n1": 3}, "b": {"n1": 6}} == actual


def test_weights_that_are_no_binary_fractions_are_compared_exactly() -> None:
    """Of thirty equal apps, rounding must not favour one: 0.1 three times is not 0.3."""
    apps = [an_app(f"a{number:02}", max=9, weight=0.1) for number in range(30)]

    actual = decided(a_node("n1", cpus=90, memory_gib=90), *apps)

    assert {f"a{number:02}": {"n1": 3} for number in range(30)} == actual


def test_equal_shares_of_unequal_containers_tie_exactly() -> None:
    """Three tenths are three tenths: in floats the three of a are more than the one of b."""
    actual = decided(
        a_node("n1", cpus=10), an_app("a", max=9), an_app("b", cpus=3), an_app("c", max=1)
    )

    assert {"a": {"n1": 6}, "b": {"n1": 1}, "c": {"n1": 1}} == actual


def test_an_equal_share_that_cannot_be_had_goes_to_the_older() -> None:
    """Ties are broken the same way on every master."""
    actual = decided(a_node("n1", cpus=5), an_app("z"), an_app("a"))

    assert {"z": {"n1": 3}, "a": {"n1": 2}} == actual


def test_order_of_submission_is_that_of_the_log_not_of_the_keys() -> None:
    """A master that began from a snapshot has sorted keys, and must decide the same."""
    state = state_of(a_node("n1", cpus=5), an_app("z"), an_app("a"))
    resorted = attrs.evolve(state, apps=dict(sorted(state.apps.items())))

    assert layout.plan(state) == layout.plan(resorted)


def test_a_changed_weight_moves_room() -> None:
    """`dorm set --weight` is felt at the next decision."""
    actual = decided(
        a_node("n1", cpus=6),
        an_app("a", max=9),
        an_app("b", max=9),
        a_layout({"a": {"n1": 3}, "b": {"n1": 3}}),
        app_changed("b", weight=2.0),
    )

    assert {"a": {"n1": 2}, "b": {"n1": 4}} == actual


def test_a_lowered_maximum_is_respected() -> None:
    """What is above goes to who can use it."""
    events: list[Event] = [
        a_node("n1"),
        an_app("a"),
        an_app("b"),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(1, 1)),
    ]

    assert {"a": {"n1": 1}, "b": {"n1": 3}} == decided(*events)
    assert "scale.max is now 1" in reasons(*events)["a"]


def test_a_raised_minimum_is_respected_at_the_cost_of_spare_containers() -> None:
    """Others give what they have above their own minimum."""
    actual = decided(
        a_node("n1"),
        an_app("a"),
        an_app("b"),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(3, 4)),
    )

    assert {"a": {"n1": 3}, "b": {"n1": 1}} == actual


def test_a_minimum_raised_beyond_reach_releases_the_app() -> None:
    """An app never runs below its minimum; it waits instead."""
    events: list[Event] = [
        a_node("n1"),
        an_app("a"),
        an_app("b", min=2),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        app_changed("a", scale=(3, 4)),
    ]

    assert {"a": {}, "b": {"n1": 4}} == decided(*events)
    assert (
        "released: 2 to 0 containers; no room for scale.min 3; makes room for b"
        == reasons(*events)["a"]
    )


# Gangs


def test_a_minimum_is_given_whole_or_not_at_all() -> None:
    """Half a gang only waits for its peers."""
    actual = decided(a_node("n1"), an_app("a", min=3, max=3), an_app("b", min=2, max=2))

    assert {"a": {"n1": 3}} == actual


def test_what_does_not_fit_is_passed_over() -> None:
    """A small app does not wait behind a large one (backfill)."""
    actual = decided(
        a_node("n1"), an_app("a", min=3, max=3), an_app("b", min=2, max=2), an_app("c", max=9)
    )

    assert {"a": {"n1": 3}, "c": {"n1": 1}} == actual


def test_a_running_app_is_never_evicted_for_a_waiting_one() -> None:
    """Work that runs at its smallest size goes on, however heavy the newcomer is."""
    actual = decided(
        a_node("n1"),
        an_app("a", min=4),
        a_layout({"a": {"n1": 4}}),
        an_app("b", weight=1000.0),
    )

    assert {} == actual


def test_an_app_that_lost_its_place_comes_before_one_that_never_had_any() -> None:
    """It was promised room first; the older one has waited, and loses nothing."""
    actual = decided(
        a_node("n1", cpus=2),
        an_app("older", min=2, max=2),
        an_app("holder", min=2, max=2),
        a_layout({"holder": {"n1": 2}}),
        a_node("n2", cpus=2),
        node_lost("n1"),
    )

    assert {"holder": {"n2": 2}} == actual


def test_room_that_is_released_is_given_away_in_the_same_decision() -> None:
    """A decision is taken until it settles, so nobody waits for the next one."""
    actual = decided(
        a_node("n1"),
        an_app("a", min=2, max=2),
        an_app("b", min=2, max=2),
        a_layout({"a": {"n1": 2}, "b": {"n1": 2}}),
        an_app("c", min=2, max=2),
        app_changed("a", scale=(5, 5)),
    )

    assert {"a": {}, "c": {"n1": 2}} == actual


def test_running_apps_shrink_to_their_minimum_for_a_waiting_gang() -> None:
    """A gang that fits into what is spare must not starve."""
    actual = decided(
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=8),
        an_app("b", max=8),
        a_layout({"a": {"n1": 4}, "b": {"n2": 4}}),
        an_app("c", min=6, max=6),
    )

    assert {"a": {"n1": 1}, "b": {"n2": 1}, "c": {"n1": 3, "n2": 3}} == actual


def test_the_richest_makes_way() -> None:
    """Whoever has the most gives, however the containers lie."""
    granted = {"a": {"n1": Slots(count=5)}, "b": {"n1": Slots(count=3)}, "c": {}}
    state = state_of(
        a_node("n1", cpus=8), an_app("a", max=8), an_app("b", max=8), an_app("c", max=1)
    )
    board, _ = lay_out(pose(state), granted)

    way = make_way(board, board.holdings["c"], ANY_SHARE)

    assert way is not None
    assert ["a"] == [giver.contender.app_id for giver in way.givers]


def test_two_small_ones_make_way_for_a_large_container() -> None:
    """Room on different nodes adds up to nothing: the place must be on one."""
    actual = decided(
        a_node("n1", cpus=4),
        a_node("n2", cpus=4),
        an_app("a", max=8),
        a_layout({"a": {"n1": 4, "n2": 4}}),
        an_app("big", cpus=3, max=1),
    )

    assert {"a": {"n1": 1, "n2": 4}, "big": {"n1": 1}} == actual


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
    state = state_of(a_node("n1", gpus=4), an_app("a", gpus=1), a_layout({"a": {"n1": has}}))
    board, _ = lay_out(pose(state), {"a": {"n1": has}})
    holding, room = board.holdings["a"], board.rooms["n1"]

    board.remove(holding, room)
    board.add(holding, room)

    assert {"n1": has} == board.partition_of(holding)


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


def pinned() -> list[Event]:
    """Application a runs on n1 and n2, and n2 is lost."""
    return [
        a_node("n1"),
        a_node("n2"),
        an_app("a", max=8),
        a_layout({"a": {"n1": 2, "n2": 2}}),
        a_generation("a", "n1", "n1", "n2", "n2"),
        node_lost("n2"),
    ]


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


# The decision as a fact


def test_the_generation_is_the_next_that_the_fold_accepts() -> None:
    """A number that was started is used up; one that was only planned is planned anew."""
    running: list[Event] = [
        a_node("n1"),
        an_app("a"),
        a_layout({"a": {"n1": 2}}),
        a_generation("a", "n1", "n1"),
    ]
    again: list[Event] = [*running, a_layout({"a": {"n1": 3}}, generation=2, decision_id="d2")]
    under_way: list[Event] = [*again, checkpoint_requested("a")]

    for events in (running, again, under_way):
        (decision,) = layout.plan(state_of(*events))

        assert 2 == decision.changes["a"].generation


def test_a_decision_says_what_it_was_taken_from() -> None:
    """An auditor needs the rule and the revision to take it again."""
    state = state_of(a_node("n1"), an_app("a"))

    (decision,) = layout.plan(state)

    assert ("drf/1", 2, 1, 1) == (
        decision.policy,
        decision.input_revision,
        decision.part,
        decision.parts,
    )
    assert decision.decision_id.startswith("2-")


def test_a_large_decision_comes_in_parts_under_one_id() -> None:
    """One transaction of etcd takes 1.5 MiB; the fold waits for the last part."""
    count = CHANGES_PER_PART_MAX + 1
    apps = [an_app(f"a{number}", max=1) for number in range(count)]
    events: list[Event] = [a_node("n1", cpus=count, memory_gib=count), *apps]

    parts = layout.plan(state_of(*events))

    assert [(1, 2, CHANGES_PER_PART_MAX), (2, 2, 1)] == [
        (part.part, part.parts, len(part.changes)) for part in parts
    ]
    assert 1 == len({part.decision_id for part in parts})
    assert all(app.partition for app in state_of(*events, *parts).apps.values())


def test_a_settled_layout_decides_nothing() -> None:
    """Level-triggered: looking twice changes nothing."""
    events: list[Event] = [
        a_node("n1", cpus=7),
        a_node("n2", cpus=3, gpus=2),
        an_app("a", cpus=2, max=9),
        an_app("b", gpus=1),
        an_app("c", max=9, weight=3.0),
    ]

    assert () == layout.plan(state_of(*events, *layout.plan(state_of(*events))))


# The validator


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([a_layout({"a": {"n1": 5}})], "a has 5 containers, not 1 to 4"),
        ([a_layout({"a": {"n9": 1}})], "a has containers on n9, which is not healthy"),
        ([a_layout({"a": {"n1": 4}, "b": {"n1": 1}})], "n1 has 4000 cpu_milli, and 5000"),
        ([a_layout({"g": {"n1": 1}})], "g has 0 devices on n1 for 1"),
        (
            [a_layout({"g": {"n1": Slots(count=1, devices=("GPU-x",))}})],
            "g has device GPU-x, which n1 has not",
        ),
        (
            [
                a_layout({"g": {"n1": Slots(count=1, devices=(gpu("n1"),))}}),
                a_layout({"h": {"n1": Slots(count=1, devices=(gpu("n1"),))}}, decision_id="d2"),
            ],
            f"device {gpu('n1')} on n1 is granted 2 times",
        ),
        (
            [
                a_node("n2"),
                a_generation("g", "n1", "n2", gpus=1),
                a_layout({"h": {"n1": Slots(count=1, devices=(gpu("n1"),))}}),
                node_lost("n2"),
            ],
            f"device {gpu('n1')} on n1 is granted, and in use by a pinned app",
        ),
    ],
)
def test_the_validator_sees_what_is_wrong(events: list[LayoutDecided], problem: str) -> None:
    """It is the net under every algorithm, so each of its rules must be able to fail."""
    apps = [an_app("a"), an_app("b"), an_app("g", gpus=1), an_app("h", gpus=1)]
    state = state_of(a_node("n1", gpus=1), *apps, *events)

    found = problems(state, {app.app_id: app.partition for app in state.apps.values()})

    assert any(sentence.startswith(problem) for sentence in found), found


def test_the_validator_defends_pinned_apps() -> None:
    """Nobody may change what cannot be stopped."""
    state = state_of(*pinned())

    (problem,) = problems(state, {"a": {}})

    assert "a is pinned, and was changed" == problem
