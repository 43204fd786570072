"""Nodes as arrays: what they have left, and the order in which they are filled."""

from events.units import Resources
from reconcilers.layout.optimizer.rooms import rack_order
from reconcilers.layout.snapshot import NodeOffer
from tests.reconcilers.optimizer.clusters import model_of
from tests.reconcilers.snapshots import an_offer

CPU = Resources(cpu_milli=1000)

NODES = (
    an_offer("b", rack="row2/rack1"),
    an_offer("a", rack="row1/rack2"),
    an_offer("c", rack="row1/rack1"),
    an_offer("d", rack="row1//rack2/"),
    an_offer("nowhere"),
    an_offer("row1"),
)


def order_of(*offers: NodeOffer) -> list[str]:
    """Return the ids of nodes in the order in which they are filled."""
    return [offers[index].node_id for index in rack_order(offers).tolist()]


def test_neighbours_in_the_order_share_racks() -> None:
    """Whoever fills nodes in this order keeps an application together."""
    assert ["nowhere", "row1", "c", "a", "d", "b"] == order_of(*NODES)


def test_machines_of_one_rack_keep_their_order() -> None:
    """The order is that of the snapshot, so that it is the same everywhere."""
    assert ["z", "a", "m"] == order_of(*(an_offer(name) for name in ("z", "a", "m")))


def test_a_row_comes_whole_before_another_one() -> None:
    """By name alone a rack `a-1` would stand between `a` and `a/1`, which share a switch."""
    racks = {"x": "a/1", "y": "a-1", "z": "a"}

    offers = [an_offer(name, rack=rack) for name, rack in racks.items()]

    assert ["z", "x", "y"] == order_of(*offers)


def test_what_others_use_of_a_node_is_no_room() -> None:
    """The class of a node is that of the whole machine; its room is what is left."""
    whole = NodeOffer(node_id="whole", capacity=CPU * 4)
    partly = NodeOffer(node_id="partly", capacity=CPU * 4, available=CPU)
    over = NodeOffer(node_id="over", capacity=CPU * 4, available=CPU * -2)

    made = model_of([whole, partly, over], [])

    assert [4000, 1000, 0] == made.room[:, 0].tolist()
    assert [0, 0, 0] == made.node_class.tolist()
    assert 5000 == made.class_room[0, 0]
