"""What a decision of the optimizer promises those who run, those who wait, and those evicted."""

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcilers.layout.decision import Limit
from reconcilers.layout.snapshot import AppRequest, FixedRole, Snapshot
from tests.reconcilers.optimizer.clusters import cluster
from tests.reconcilers.optimizer.layouts import (
    CPU,
    GPU,
    app,
    carried_out,
    decide,
    decided,
    nodes,
    sizes,
)

OVERDUE_MS = 10**9


def test_an_empty_cluster_is_filled() -> None:
    """Everybody gets places, and nothing that somebody could use stays free."""
    decision = decide(nodes(4, CPU * 8), app("a", 1, 16), app("b", 4, 16), app("c", 2, 16))

    assert sum(sizes(decision).values()) == 32
    assert decision.gap == pytest.approx(0.0, abs=2e-4)


def test_nothing_to_decide_is_decided() -> None:
    """No applications, or no nodes, are no error: a cluster starts like that."""
    assert {} == decide(nodes(2, CPU)).placements

    without_nodes = decide((), app("a", 1, 2))

    assert {} == without_nodes.placements
    assert without_nodes.verdicts["a"].limit is Limit.TOO_LARGE


@given(st.integers(0, 10**6), st.sampled_from(["utilization", "goodput"]))
@settings(max_examples=4, deadline=None)
def test_a_settled_layout_stays(seed: int, policy: str) -> None:
    """Deciding again on what decisions have made comes to an end: no restart without a reason."""
    snapshot = cluster(8, 12, seed=seed, policy=policy)
    for _ in range(8):  # Each change has to bring something, and what is to be had is limited.
        decision = decided(snapshot)
        after = carried_out(snapshot, decision)
        if after.apps == snapshot.apps:
            break
        snapshot = after

    again = decided(snapshot)

    assert () == again.touched
    assert {one.app_id: one.placement for one in snapshot.apps if one.placement} == dict(
        again.placements
    )


def test_an_arrival_that_finds_room_disturbs_nobody() -> None:
    """The budget begins at zero: there is room beside those who run."""
    runs = [app(f"a{index}", 2, 4, placement={f"n{index}": 4}) for index in range(3)]
    decision = decide(nodes(4, CPU * 4), *runs, app("new", 1, 4, submitted_ms=9))

    assert () == decision.touched
    assert sizes(decision)["new"] == 4


def test_a_shrinking_application_keeps_its_other_containers_where_they_are() -> None:
    """What stays needs no copy of its data, and caches stay warm."""
    big = app("big", 1, 16, placement={"n0": 8, "n1": 8})
    decision = decide(nodes(2, CPU * 8), big, app("new", 6, 6), touch_factor=1.0)

    assert sizes(decision) == {"big": 10, "new": 6}
    assert all(count <= 8 for count in decision.placements["big"].values())
    assert 8 in decision.placements["big"].values()
    assert ("big",) == decision.touched


def test_nobody_is_disturbed_for_less_than_a_restart_costs() -> None:
    """A job that takes hours to load its data does not grow by one container."""
    slow = app("slow", 1, 8, placement={"n0": 7}, restart_ms=1_700_000)

    assert () == decide(nodes(1, CPU * 8), slow, touch_factor=1.0).touched
    quick = attrs.evolve(slow, app_id="quick", restart_ms=1_000)
    assert ("quick",) == decide(nodes(1, CPU * 8), quick, touch_factor=1.0).touched


def test_nobody_is_disturbed_for_less_than_a_thousandth() -> None:
    """Even where restarts cost nothing, there has to be something to be had."""
    wide = app("wide", 1, 10_000, placement={"n0": 9_995})
    decision = decide(
        nodes(1, CPU * 10_000), wide, policy="utilization", certify=False, touch_factor=1.0
    )

    assert () == decision.touched


def test_what_rests_stays_exactly_as_it_is() -> None:
    """Who was changed a moment ago is left alone, even by a gang whose time is up."""
    fresh = app("fresh", 1, 16, placement={"n0": 8, "n1": 8}, ran_ms=1)
    gang = app("gang", 4, 4, waited_ms=OVERDUE_MS)
    decision = decide(nodes(2, CPU * 8), fresh, gang, touch_factor=1.0)

    assert {"n0": 8, "n1": 8} == dict(decision.placements["fresh"])
    assert decision.verdicts["fresh"].limit is Limit.AT_MAX
    assert "gang" not in decision.placements


def test_a_gang_of_half_the_cluster_is_served_in_one_burst() -> None:
    """Its time is up, so the budget of one restart does not hold it back."""
    runs = [
        app(f"a{index}", 1, 8, placement={f"n{index}": 4}, submitted_ms=index) for index in range(8)
    ]
    gang = app("gang", 16, 16, submitted_ms=99, waited_ms=OVERDUE_MS)
    decision = decide(nodes(8, CPU * 4), *runs, gang)

    assert sizes(decision)["gang"] == 16
    assert len(decision.touched) > decision.touches_max
    assert all(sizes(decision)[one.app_id] >= 1 for one in runs)


def test_a_gang_disturbs_no_more_than_it_has_to() -> None:
    """One application has all that is missing: the others are spared."""
    wide = app("wide", 1, 16, placement={"n0": 8, "n1": 8})
    small = [app(f"s{index}", 3, 4, placement={f"n{index + 2}": 4}) for index in range(4)]
    gang = app("gang", 7, 7, submitted_ms=9, waited_ms=OVERDUE_MS)
    decision = decide(
        (*nodes(2, CPU * 8), *nodes(6, CPU * 4)[2:]), wide, *small, gang, touch_factor=0.0
    )

    assert ("wide",) == decision.touched
    assert sizes(decision)["gang"] == 7


def test_who_gives_only_a_part_is_spared_if_another_can_give_all() -> None:
    """Both have as much above their minimum, but of one it lies in single CPUs."""
    held = {"n0": 2, "n1": 3, "n2": 3, "n3": 3, "n5": 3}
    rests = app("rests", 14, 14, placement=held, ran_ms=1)
    spread = app("spread", 1, 5, placement={"n0": 2, "n1": 1, "n2": 1, "n3": 1})
    whole = app("whole", 1, 5, placement={"n4": 4, "n5": 1})
    gang = app("gang", 2, 2, demand=CPU * 2, submitted_ms=9, waited_ms=OVERDUE_MS)
    decision = decide(nodes(6, CPU * 4), rests, spread, whole, gang, touch_factor=0.0)

    assert ("whole",) == decision.touched
    assert sizes(decision)["gang"] == 2


def test_room_in_one_piece_is_made_on_a_fragmented_cluster() -> None:
    """Eight devices are free, but not on one node: the cheapest guests are moved together."""
    runs = [app(f"a{index}", 4, 4, demand=GPU, placement={f"n{index}": 4}) for index in range(2)]
    whole = app("whole", 1, 1, demand=GPU * 8, submitted_ms=9, waited_ms=OVERDUE_MS)
    decision = decide(nodes(2, GPU * 8), *runs, whole, touch_factor=0.0)

    assert sizes(decision) == {"a0": 4, "a1": 4, "whole": 1}
    assert len(decision.touched) == 1


def test_nobody_takes_the_room_that_is_due_to_one_that_waits() -> None:
    """A gang in front of the queue would wait for ever if small ones kept slipping past it."""
    runs = app("runs", 4, 4, placement={"n0": 4})
    gang = app("gang", 6, 6, submitted_ms=1)
    resting = app("rests", 2, 3, placement={"n1": 3}, ran_ms=1, submitted_ms=0)
    late = app("late", 1, 1, submitted_ms=2)
    decision = decide(nodes(2, CPU * 6), runs, resting, gang, late)

    assert decision.verdicts["gang"].limit is not Limit.NOT_DUE
    assert "gang" not in decision.placements
    assert decision.verdicts["late"].limit is Limit.NOT_DUE
    assert "late" not in decision.placements


def test_a_higher_tier_takes_the_place_of_a_lower_one() -> None:
    """Production does not wait for experiments."""
    low = app("low", 4, 4, placement={"n0": 4})
    decision = decide(nodes(1, CPU * 4), low, app("high", 4, 4, priority=1, submitted_ms=9))

    assert {"high": 4} == sizes(decision)
    assert ("low",) == decision.released


def test_a_lower_tier_stays_where_its_room_helps_nobody() -> None:
    """Stopping it would not place the higher one: the sum fits, no node does."""
    low = [app(f"low{index}", 3, 3, placement={f"n{index}": 3}) for index in range(2)]
    rests = [
        app(f"r{index}", 2, 2, placement={f"n{index}": 2}, ran_ms=1, submitted_ms=5)
        for index in range(2)
    ]
    high = app("high", 1, 1, priority=1, demand=CPU * 6, submitted_ms=9)
    decision = decide(nodes(2, CPU * 6), *low, *rests, high)

    assert {"low0": 3, "low1": 3, "r0": 2, "r1": 2} == sizes(decision)
    assert () == decision.released


def test_a_lower_tier_whose_room_is_of_no_use_keeps_its_places() -> None:
    """One of two higher ones finds a whole node; for the other nobody has to go, or to move."""
    rests = app(
        "rests", 6, 6, placement={f"n{index}": 2 for index in (1, 2, 3)}, ran_ms=1, priority=2
    )
    one_node = app("one_node", 4, 4, placement={"n0": 4})
    two_nodes = app("two_nodes", 4, 4, placement={"n2": 2, "n3": 2})
    high = [app(f"high{index}", 1, 1, priority=1, demand=CPU * 4) for index in range(2)]
    decision = decide(nodes(4, CPU * 4), rests, one_node, two_nodes, *high)

    assert ("one_node",) == decision.released
    assert {"n2": 2, "n3": 2} == dict(decision.placements["two_nodes"])
    assert {"rests", "two_nodes", "high0"} == set(decision.placements)


def test_the_evicted_come_before_those_that_wait() -> None:
    """Who lost its node is placed again first, and at no cost to the budget."""
    lost = app("lost", 3, 4, submitted_ms=9, is_evicted=True)
    decision = decide(nodes(1, CPU * 4), app("older", 3, 4), lost)

    assert sizes(decision) == {"lost": 4}


def test_the_evicted_disturb_others_if_there_is_no_other_way() -> None:
    """It ran until its node was lost; those above their minimum make way for it."""
    wide = app("wide", 1, 8, placement={"n0": 8})
    lost = app("lost", 3, 3, is_evicted=True, submitted_ms=9)
    decision = decide(nodes(1, CPU * 8), wide, lost, touch_factor=0.0)

    assert sizes(decision) == {"wide": 5, "lost": 3}


def test_fixed_roles_come_with_the_first_containers_and_stay() -> None:
    """Workers without their parameter server are of no use."""
    server = FixedRole(name="server", demand=CPU * 2, count=2)
    snapshot = Snapshot(nodes=nodes(2, CPU * 4), apps=(app("a", 2, 8, roles=(server,)),))
    decision = decided(snapshot)

    assert sizes(decision) == {"a": 4}
    assert sum(decision.role_placements["a"]["server"].values()) == 2
    after = carried_out(snapshot, decision)
    assert decision.role_placements == decided(after).role_placements


def test_a_server_that_outlived_its_workers_is_not_placed_twice() -> None:
    """Everything of an evicted application is placed anew; what is left of it is no place yet."""
    server = FixedRole(name="server", demand=CPU, count=1)
    left = {"server": {"n0": 1}}
    lost = app("lost", 1, 3, roles=(server,), role_placement=left, is_evicted=True)
    decision = decide(nodes(2, CPU * 4), lost, app("other", 1, 4, placement={"n1": 4}))

    assert sum(decision.role_placements["lost"]["server"].values()) == 1
    assert sizes(decision)["lost"] == 3


def test_an_application_whose_server_does_not_fit_waits() -> None:
    """Its elastic containers alone would fit, and would hold room for nothing."""
    server = FixedRole(name="server", demand=CPU * 5, count=1)
    decision = decide(nodes(2, CPU * 4), app("a", 1, 8, roles=(server,)))

    assert {} == decision.placements
    assert {} == decision.role_placements


@pytest.mark.parametrize("policy", ["utilization", "goodput"])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_above_its_bound(seed: int, policy: str) -> None:
    """A bound that a layout exceeds proves nothing, and neither would the gap."""
    snapshot = cluster(12, 20, seed=seed, policy=policy)
    for _ in range(3):
        decision = decided(snapshot)

        assert decision.objective <= decision.bound + 1e-9
        if policy == "utilization":  # Lacking counts twice for goodput, and here some have to.
            assert decision.loss <= decision.loss_bound + 1e-9
        rest = carried_out(snapshot, decision)
        snapshot = attrs.evolve(rest, apps=rest.apps[1:])


def test_small_clusters_are_solved_to_the_end() -> None:
    """What is 0.02 % below the bound is as good as optimal."""
    apps = [
        app(f"a{index}", 1, 12, demand=CPU * (1 + index % 3), weight=1.0 + index % 2)
        for index in range(10)
    ]

    assert decide(nodes(6, CPU * 12), *apps, policy="utilization").gap <= 2e-4


def waiting(app_id: str) -> AppRequest:
    """Return an application that takes whatever it gets."""
    return app(app_id, 1, 8, submitted_ms=5)


def test_verdicts_say_what_is_full() -> None:
    """Whoever asks why gets the resource that it finds least of."""
    decision = decide(nodes(1, CPU * 4), waiting("a"), waiting("b"))

    assert {"a": 2, "b": 2} == sizes(decision)
    assert decision.verdicts["a"].limit is Limit.RESOURCE
    assert decision.verdicts["a"].resource == "cpu"
    assert decision.verdicts["a"].fair_containers == pytest.approx(2.0)
