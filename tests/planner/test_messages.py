"""What master and child say to each other."""

import attrs
import msgspec
from hypothesis import given

from dorm.planner.messages import LENGTH, Receiver, Request, Sender, frame
from events.fold import apply, fold
from events.recorded import Recorded
from events.snapshot import dump
from events.state import ClusterState
from tests.builders import a_node, an_app, history, node_forgotten, node_lost
from tests.histories import histories


def transmitted(request: Request) -> Request:
    """Return what arrives at the other end."""
    raw = frame(request)
    assert len(raw) == LENGTH.size + LENGTH.unpack(raw[: LENGTH.size])[0]
    return msgspec.msgpack.decode(raw[LENGTH.size :], type=Request)


@given(history=histories(max_size=20))
def test_the_child_has_the_state_of_its_parent_after_every_change(
    history: tuple[Recorded, ...],
) -> None:
    """Increments may lose nothing, and keep the order: decisions are compared by their bytes."""
    sender, receiver, state = Sender(), Receiver(), ClusterState()
    for recorded in history:
        state = apply(state, recorded)
        arrived = receiver.state(transmitted(sender.request(state, None, 1)))

        assert dump(attrs.evolve(state, finished={})) == dump(arrived)


def test_only_what_changed_is_sent() -> None:
    """A whole state has 12 MB at 10,000 nodes."""
    events = history(*(a_node(f"n{index}") for index in range(9)), an_app("a"), an_app("b"))
    sender, before = Sender(), fold(events[:-1])
    first = sender.request(before, None, 1)
    second = sender.request(fold(events[-1:], before), None, 1)

    assert (9, 1) == (len(first.nodes), len(first.apps))
    assert (0, ["b"]) == (len(second.nodes), [app.app_id for app in second.apps])


def test_a_new_child_is_told_everything() -> None:
    """The one before took its memory with it."""
    sender, state = Sender(), fold(history(a_node("n1"), an_app("a")))
    sender.request(state, None, 1)
    sender.forget()

    again = sender.request(state, None, 1)
    assert (1, 1) == (len(again.nodes), len(again.apps))


def test_a_node_that_came_back_stands_where_its_parent_has_it() -> None:
    """The order of a map has a meaning in a state."""
    events = history(
        a_node("n1"), a_node("n2"), node_lost("n1"), node_forgotten("n1"), a_node("n1")
    )
    sender, receiver = Sender(), Receiver()
    receiver.state(sender.request(fold(events[:2]), None, 1))
    state = receiver.state(sender.request(fold(events), None, 1))

    assert ["n2", "n1"] == list(state.nodes)
