"""From a snapshot to arrays."""

import pytest

from events.units import Resources
from reconcilers.layout.optimizer.build import build
from reconcilers.layout.snapshot import AppRequest, FixedRole, NodeOffer, Options, Snapshot

CPU = Resources(cpu_milli=1000, memory_bytes=1 << 30)


def nodes(count: int, cpus: int = 4) -> tuple[NodeOffer, ...]:
    """Return equal nodes."""
    return tuple(NodeOffer(node_id=f"n{index}", capacity=CPU * cpus) for index in range(count))


def app(app_id: str, **fields: object) -> AppRequest:
    """Return an application of 1 to 8 containers of one CPU."""
    return AppRequest(**{"app_id": app_id, "demand": CPU, "min": 1, "max": 8, **fields})  # type: ignore[arg-type]


def test_amounts_are_counted_in_units_that_some_demand_can_tell_apart() -> None:
    """Nodes that differ by a few bytes are equal for demands in whole GiB."""
    odd = NodeOffer(node_id="odd", capacity=CPU * 4 + Resources(memory_bytes=4096))
    made = build(Snapshot(nodes=(*nodes(1), odd), apps=(app("a"),)))

    assert made.room.tolist() == [[4, 4, 0], [4, 4, 0]]
    assert made.class_nodes.tolist() == [2]


def test_capacities_that_hardly_differ_are_one_class() -> None:
    """Real machines of one kind report memory that differs a little; prices need few classes."""
    offers = tuple(
        NodeOffer(
            node_id=f"n{index}", capacity=Resources(cpu_milli=8000, memory_bytes=10**9 + index)
        )
        for index in range(5)
    )
    made = build(
        Snapshot(nodes=offers, apps=(app("a", demand=Resources(cpu_milli=1000, memory_bytes=7)),))
    )

    assert made.class_nodes.tolist() == [5]
    assert (made.classes[0] >= made.room).all()


def test_an_application_that_lost_places_is_evicted_not_running() -> None:
    """With less than its minimum left it has to be placed anew, before those that wait."""
    made = build(Snapshot(nodes=nodes(2), apps=(app("a", min=3, placement={"n0": 2}), app("b"))))

    assert made.evicted.tolist() == [True, False]
    assert made.running.tolist() == [False, False]


def test_a_higher_tier_is_due_what_a_lower_one_has() -> None:
    """The lower one yields: it is not entitled beside the gang of the higher one."""
    apps = (
        app("low", min=4, placement={"n0": 4}),
        app("high", min=8, priority=1),
    )
    made = build(Snapshot(nodes=nodes(2), apps=apps))

    assert made.entitled.tolist() == [False, True]
    assert made.yields.tolist() == [True, False]


def test_what_rests_yields_to_nobody() -> None:
    """A minimum run time is a promise; a higher tier waits for its end."""
    apps = (
        app("low", min=4, placement={"n0": 4}, ran_ms=1000),
        app("high", min=8, priority=1),
    )
    made = build(Snapshot(nodes=nodes(2), apps=apps))

    assert made.rests.tolist() == [True, False]
    assert made.entitled.tolist() == [True, False]


def test_a_gang_is_overdue_only_once_its_share_is_due() -> None:
    """Waiting alone is no claim: the minimums of older ones come first."""
    options = Options(gang_wait_ms=1000)
    apps = (app("old", min=8, waited_ms=0), app("late", min=1, waited_ms=5000))
    made = build(Snapshot(nodes=nodes(2), apps=apps, options=options))

    assert made.overdue.tolist() == [False, False]


def test_fixed_roles_belong_to_the_minimum() -> None:
    """Two parameter servers beside seven workers are nine containers, one too many here."""
    roles = (FixedRole(name="ps", demand=CPU, count=2),)
    made = build(
        Snapshot(nodes=nodes(2), apps=(app("fits", min=6, roles=roles), app("not", min=1)))
    )

    assert made.fixed.tolist() == [[2, 2, 0], [0, 0, 0]]
    assert made.entitled.tolist() == [True, False]


def test_a_minimum_larger_than_the_cluster_is_impossible() -> None:
    """So that nothing is kept free for what can never be."""
    made = build(Snapshot(nodes=nodes(1), apps=(app("a", min=5, max=9), app("b"))))

    assert made.possible.tolist() == [False, True]
    assert made.entitled.tolist() == [False, True]
    assert made.high.tolist() == [5, 4]


@pytest.mark.parametrize(
    ("placement", "words"),
    [({"n0": 5}, "node n0 holds more"), ({"n0": 4, "n1": 4, "n2": 1}, "above max")],
)
def test_a_layout_that_cannot_stand_is_refused(placement: dict[str, int], words: str) -> None:
    """Whoever asks decides first what of a broken layout stands; guessing here would hide it."""
    with pytest.raises(ValueError, match=words):
        build(Snapshot(nodes=nodes(3), apps=(app("a", placement=placement),)))


def test_nothing_at_all_is_a_model_too() -> None:
    """An empty cluster and an empty queue are ordinary states."""
    assert build(Snapshot(nodes=(), apps=())).apps == 0
    assert build(Snapshot(nodes=nodes(2), apps=())).nodes == 2
    assert build(Snapshot(nodes=(), apps=(app("a"),))).possible.tolist() == [False]
