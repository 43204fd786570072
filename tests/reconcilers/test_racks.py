"""Where machines stand, and how far apart."""

import pytest

from reconcilers.layout.racks import Racks
from tests.reconcilers.snapshots import an_offer

NODES = (
    an_offer("b", rack="row2/rack1"),
    an_offer("a", rack="row1/rack2"),
    an_offer("c", rack="row1/rack1"),
    an_offer("d", rack="row1/rack2"),
    an_offer("nowhere"),
)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("a", "a", 0), ("a", "d", 1), ("a", "c", 3), ("a", "b", 5), ("a", "nowhere", 3)],
)
def test_the_distance_is_the_number_of_switches(one: str, other: str, expected: int) -> None:
    """Each level of the tree has a switch: rack, row, and the core."""
    racks = Racks.of(NODES)

    assert expected == racks.distance(one, other) == racks.distance(other, one)


def test_the_spread_of_an_application_is_its_number_of_racks() -> None:
    """What a report shows of how well applications are kept together."""
    racks = Racks.of(NODES)

    assert 1 == racks.spread({"a": 3, "d": 1})
    assert 3 == racks.spread({"a": 3, "b": 1, "c": 2})
    assert 0 == racks.spread({})


def test_a_machine_with_the_name_of_a_rack_is_a_machine() -> None:
    """Names are chosen by people; a node `row1` must not become a row."""
    nodes = (an_offer("row1"), an_offer("x", rack="row1"))

    assert 2 == Racks.of(nodes).distance("row1", "x")
