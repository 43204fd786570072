"""Fixed partitions and resource offers: what other managers would do."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcilers.layout import (
    AppRequest,
    Decision,
    FixedRole,
    Limit,
    NodeOffer,
    Options,
    Snapshot,
    decide,
)
from reconcilers.layout.check import problems
from tests.builders import amount
from tests.reconcilers.snapshots import a_request, a_role, a_snapshot, an_offer, sizes


def static(*parts: NodeOffer | AppRequest, **options: Any) -> Decision:  # noqa: ANN401 - options
    """The decision of fixed partitions of two containers, unless `options` say otherwise."""
    return decide(a_snapshot(*parts, policy="static", **{"static_containers": 2, **options}))


def two_level(*parts: NodeOffer | AppRequest) -> Decision:
    """The decision of resource offers."""
    return decide(a_snapshot(*parts, policy="two-level"))


# Static


def test_a_static_partition_is_as_large_as_configured_within_the_bounds() -> None:
    """The operator's one size for all, unless it cannot be."""
    actual = static(
        an_offer("n1", cpus=16),
        a_request("a"),
        a_request("b", min=3),
        a_request("c", max=1),
    )

    assert {"a": 2, "b": 3, "c": 1} == sizes(actual)
    assert "static/1" == actual.version


def test_a_static_partition_never_changes() -> None:
    """Free room stays free: this is what elasticity is compared with."""
    actual = static(an_offer("n1", cpus=16), a_request("a", placement={"n1": 3}))

    assert {"a": {"n1": 3}} == actual.placements
    assert () == actual.touched


def test_nobody_overtakes_in_a_static_queue() -> None:
    """First come, first served: the small one waits behind the large one."""
    actual = static(
        an_offer("n1", cpus=4),
        a_request("runs", placement={"n1": 2}),
        a_request("large", min=3),
        a_request("small", max=1),
    )

    assert {"runs": 2} == sizes(actual)
    assert Limit.NOT_DUE == actual.verdicts["large"].limit


def test_who_never_fits_does_not_block_the_queue() -> None:
    """A cluster that waits for the impossible would stand still for ever."""
    actual = static(an_offer("n1"), a_request("huge", min=9, max=9), a_request("small"))

    assert {"small": 2} == sizes(actual)
    assert Limit.TOO_LARGE == actual.verdicts["huge"].limit


def test_a_cpu_container_leaves_cpus_beside_free_gpus() -> None:
    """First fit alone would strand the GPUs of the first node, and the second app would wait."""
    actual = static(
        an_offer("n1", cpus=4, gpus=2),
        an_offer("n2", cpus=4),
        a_request("cpu"),
        a_request("gpu", cpus=2, gpus=1),
    )

    assert {"cpu": {"n2": 2}, "gpu": {"n1": 2}} == actual.placements


def test_a_cpu_container_takes_them_where_nothing_else_is_left() -> None:
    """A rule for other nodes' sake must not leave the only node empty."""
    actual = static(an_offer("n1", cpus=4, gpus=2), a_request("cpu"))

    assert {"cpu": {"n1": 2}} == actual.placements


def test_who_lost_its_places_is_placed_before_who_waits() -> None:
    """It was served first, and it still is."""
    actual = static(
        an_offer("n1", cpus=2),
        a_request("older"),
        a_request("evicted", submitted_ms=1, is_evicted=True),
    )

    assert {"evicted": 2} == sizes(actual)


@pytest.mark.parametrize("policy", ["drf", "static", "two-level"])
def test_fixed_roles_are_placed_with_the_gang_or_nothing_is(policy: str) -> None:
    """Workers without their parameter servers only wait for them."""
    fits = a_request("fits", min=2, max=2, roles=(a_role(cpus=2),))
    does_not = a_request("does_not", min=2, max=2, roles=(a_role(cpus=3),), submitted_ms=1)

    actual = decide(a_snapshot(an_offer("n1", cpus=4), does_not, policy=policy))
    assert {} == actual.placements
    assert {} == actual.role_placements

    actual = decide(a_snapshot(an_offer("n1", cpus=4), fits, does_not, policy=policy))
    assert {"fits": {"n1": 2}} == actual.placements
    assert {"fits": {"ps": {"n1": 1}}} == actual.role_placements


# Two-level


def test_an_offer_is_taken_up_to_the_maximum() -> None:
    """The framework cannot know when the next one comes."""
    actual = two_level(an_offer("n1", cpus=5), a_request("a"), a_request("b"))

    assert {"a": 4, "b": 1} == sizes(actual)


def test_an_offer_below_the_minimum_is_declined_and_goes_on_to_the_next() -> None:
    """Offers are made one after another; nobody blocks the line."""
    actual = two_level(an_offer("n1", cpus=2), a_request("a", min=3), a_request("b"))

    assert {"b": 2} == sizes(actual)


def test_what_was_accepted_is_never_taken_back_nor_added_to() -> None:
    """The allocator knows nothing of elasticity: the newcomer waits, the first keeps all."""
    actual = two_level(
        an_offer("n1"), an_offer("n2", cpus=1), a_request("a", max=9, placement={"n1": 4})
    )

    assert {"a": {"n1": 4}} == actual.placements
    assert {"a": 4} == sizes(
        two_level(an_offer("n1"), a_request("a", placement={"n1": 4}), a_request("b"))
    )


# Tiers and rests under fairness


def drf(*parts: NodeOffer | AppRequest, **options: Any) -> Decision:  # noqa: ANN401 - options
    """The decision of fairness."""
    return decide(a_snapshot(*parts, **options))


def test_a_higher_tier_takes_the_room_of_a_lower_one() -> None:
    """Its minimum comes before everything below it."""
    actual = drf(
        an_offer("n1"),
        a_request("low", min=3, placement={"n1": 4}),
        a_request("high", min=2, priority=1),
    )

    assert {"high": 4} == sizes(actual)
    assert ("low",) == actual.released


def test_a_higher_tier_releases_no_more_than_it_needs_the_youngest_first() -> None:
    """Preemption costs work, so as few as possible pay."""
    actual = drf(
        an_offer("n1", cpus=6),
        a_request("old", min=2, max=2, placement={"n1": 2}),
        a_request("young", min=2, max=2, placement={"n1": 2}, submitted_ms=1),
        a_request("urgent", min=4, max=4, priority=1, submitted_ms=2),
    )

    assert {"old": 2, "urgent": 4} == sizes(actual)
    assert ("young",) == actual.released
    assert () == actual.touched


def test_who_would_have_to_give_in_vain_is_left_where_it_is() -> None:
    """Its room is on the wrong node: released for a moment of thought, it has it all back."""
    actual = drf(
        an_offer("n1", cpus=3),
        an_offer("n2", cpus=4),
        a_request("needed", min=4, placement={"n2": 4}),
        a_request("in_vain", placement={"n1": 3}, ran_ms=0, submitted_ms=1),
        a_request("urgent", cpus=4, max=1, priority=1, submitted_ms=2),
        min_run_ms=60_000,
    )

    assert {"in_vain": {"n1": 3}, "urgent": {"n2": 1}} == actual.placements
    assert (("needed",), ()) == (actual.released, actual.touched)


def test_who_gives_way_to_a_higher_tier_finds_another_place_though_it_rests() -> None:
    """Rest is a courtesy among equals; half of its room is better than none."""
    actual = drf(
        an_offer("n1"),
        a_request("low", min=1, placement={"n1": 4}, ran_ms=0),
        a_request("high", min=2, max=2, priority=1),
        min_run_ms=60_000,
    )

    assert {"low": 2, "high": 2} == sizes(actual)
    assert ("low",) == actual.touched


def test_a_gang_that_fails_for_its_roles_tells_nothing_about_others() -> None:
    """The same workers without a parameter server fit."""
    actual = drf(
        an_offer("n1", cpus=2),
        a_request("with", min=2, max=2, roles=(a_role(),)),
        a_request("without", min=2, max=2, submitted_ms=1),
    )

    assert {"without": 2} == sizes(actual)


def test_a_lower_tier_takes_nothing_from_a_higher_one() -> None:
    """What a higher tier can use, it has; the rest is for those below."""
    actual = drf(
        an_offer("n1"),
        a_request("high", priority=1, placement={"n1": 4}),
        a_request("low"),
    )

    assert {"high": 4} == sizes(actual)


def test_a_higher_tier_grows_before_a_lower_one_but_stops_nobody_for_it() -> None:
    """Growth is comfort: it takes spare containers, never a minimum."""
    actual = drf(
        an_offer("n1"),
        a_request("low", min=1, placement={"n1": 3}),
        a_request("high", min=1, priority=1, placement={"n1": 1}),
    )

    assert {"low": 1, "high": 3} == sizes(actual)


def test_what_was_just_changed_neither_gives_nor_takes() -> None:
    """It rests; the newcomer takes from another."""
    actual = drf(
        an_offer("n1", cpus=8),
        a_request("fresh", placement={"n1": 4}, ran_ms=1_000),
        a_request("settled", placement={"n1": 4}, ran_ms=90_000),
        a_request("new", min=2, max=2),
        min_run_ms=60_000,
    )

    assert {"fresh": 4, "settled": 2, "new": 2} == sizes(actual)


def test_fixed_roles_stay_where_they_are_while_the_workers_are_resized() -> None:
    """A parameter server that moves takes its state with it."""
    actual = drf(
        an_offer("n1"),
        an_offer("n2"),
        a_request(
            "a",
            placement={"n1": 2},
            roles=(a_role(),),
            role_placement={"ps": {"n2": 1}},
        ),
    )

    assert {"a": {"ps": {"n2": 1}}} == actual.role_placements
    assert {"a": 4} == sizes(actual)


# All of them


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """A small cluster with whatever may be in it, decided by any policy without a solver."""
    nodes = [
        NodeOffer(
            node_id=f"n{number}",
            capacity=amount(
                draw(st.integers(1, 8)), draw(st.integers(1, 16)), draw(st.integers(0, 4))
            ),
        )
        for number in range(draw(st.integers(0, 4)))
    ]
    free = {node.node_id: node.capacity for node in nodes}
    apps = [draw(_apps(f"a{number}", free)) for number in range(draw(st.integers(0, 6)))]
    return Snapshot(
        nodes=tuple(nodes),
        apps=tuple(apps),
        options=Options(
            policy=draw(st.sampled_from(("drf", "static", "two-level"))),
            min_run_ms=draw(st.sampled_from((0, 1_000))),
            static_containers=draw(st.integers(1, 4)),
        ),
    )


@st.composite
def _apps(draw: st.DrawFn, app_id: str, free: dict[str, Any]) -> AppRequest:
    demand = amount(
        draw(st.sampled_from((0.5, 1, 2))),
        draw(st.integers(1, 3)),
        draw(st.sampled_from((0, 0, 1))),
    )
    low = draw(st.integers(1, 3))
    high = low + draw(st.integers(0, 4))
    roles: tuple[FixedRole, ...] = ()
    if draw(st.booleans()):
        roles = (a_role(count=draw(st.integers(1, 2))),)
    placement: dict[str, int] = {}
    for node_id in sorted(free) if draw(st.booleans()) else ():
        left = high - sum(placement.values())
        count = min(draw(st.integers(0, 2)), left, demand.times_in(free[node_id]))
        if count:
            placement[node_id] = count
            free[node_id] -= demand * count
    return AppRequest(
        app_id=app_id,
        demand=demand,
        min=low,
        max=high,
        weight=draw(st.sampled_from((1.0, 0.3, 2.5))),
        priority=draw(st.sampled_from((0, 0, 1))),
        submitted_ms=draw(st.integers(0, 3)),
        ran_ms=draw(st.sampled_from((None, 0, 5_000))),
        placement=placement,
        roles=roles,
        is_evicted=0 < sum(placement.values()) < low,
    )


@settings(max_examples=200, deadline=None)
@given(snapshot=snapshots())
def test_every_decision_without_a_solver_is_sound_and_repeatable(snapshot: Snapshot) -> None:
    """Any mix of tiers, roles, gangs, rests and lost places: valid, explained, the same again."""
    actual = decide(snapshot)

    assert () == problems(snapshot, actual)
    assert "" == actual.fallback
    assert actual == decide(snapshot)
    assert {app.app_id for app in snapshot.apps} == set(actual.verdicts)
    assert all(actual.verdicts[app].containers == size for app, size in sizes(actual).items())
