"""What the loss of a node's right to run means for what ran there."""

from typing import Any

from events.catalog import Event
from events.state import ClusterState, Exit
from tests import builders as b

T1: dict[str, Any] = {"tenure": "t1"}
RUNNING: tuple[Event, ...] = (
    b.a_node("n1", **T1),
    b.a_node("n2", tenure="t9"),
    b.an_app("a", max=2),
    b.a_layout({"a": {"n1": 1, "n2": 1}}),
    b.a_generation("a", "n1", "n2"),
    b.container_started("a", rank=0, node_id="n1"),
    b.container_started("a", rank=1, node_id="n2"),
)
EXPELLED = (*RUNNING, b.node_lost("n1"), b.node_expelled("n1", **T1))
FENCED = (*EXPELLED, b.node_fenced("n1", **T1))


def exits(state: ClusterState) -> dict[int, Exit]:
    """How the containers of the only application ended."""
    generation = state.apps["a"].generation
    assert generation is not None
    return dict(generation.exits)


def ignored(*events: Event) -> dict[str, int]:
    """What made no sense."""
    return dict(b.state_of(*events).ignored)


def test_an_expelled_node_keeps_its_containers_and_offers_no_room() -> None:
    """They may be running for a moment yet, so nothing may start in their place."""
    state = b.state_of(*EXPELLED)
    assert state.nodes["n1"].standing == "expelled"
    assert state.nodes["n1"].lost
    assert exits(state) == {}


def test_what_ran_on_a_fenced_node_is_gone_and_nothing_else_is() -> None:
    """The other container goes on until somebody stops it."""
    state = b.state_of(*FENCED)
    assert state.nodes["n1"].standing == "fenced"
    message = "node n1 was lost and is fenced off"
    assert exits(state) == {0: Exit(exit_code=None, reason="lost", message=message)}


def test_a_node_whose_tenure_is_over_does_not_simply_come_back() -> None:
    """Neither its lease nor its agent's word under the old tenure makes it a node again."""
    assert ignored(*EXPELLED, b.node_returned("n1")) == {"tenure is over": 1}
    assert ignored(*FENCED, b.a_node("n1", **T1)) == {"tenure is over": 1}


def test_a_new_tenure_makes_it_an_ordinary_node() -> None:
    """Its agent takes one when nothing of the old one is left."""
    state = b.state_of(*FENCED, b.a_node("n1", tenure="t2"))
    assert state.nodes["n1"].standing == "ready"


def test_a_new_tenure_closes_what_the_old_one_left_open() -> None:
    """The node was quicker than the leader that had ended its tenure."""
    back = (*RUNNING, b.a_node("n1", tenure="t2"))
    assert list(exits(b.state_of(*back))) == [0]
    assert ignored(*back, b.node_expelled("n1", **T1)) == {"tenure is not the node's": 1}


def test_a_node_that_learns_to_be_fenced_keeps_what_it_runs() -> None:
    """An agent with a warden takes over from one without."""
    before = (b.a_node("n1"), *RUNNING[1:])
    assert exits(b.state_of(*before, b.a_node("n1", **T1))) == {}


def test_late_words_of_a_fenced_node_change_nothing() -> None:
    """Its reports wait on its disk for as long as it is cut off."""
    late = b.container_exited("a", rank=0, node_id="n1", exit_code=0)
    assert ignored(*FENCED, late) == {"container is already gone": 1}


def test_nobody_is_fenced_twice_or_unannounced() -> None:
    """Each step has one meaning, whoever repeats it."""
    fenced = b.node_fenced("n1", **T1)
    assert ignored(*RUNNING, fenced) == {"node is not expelled": 1}
    assert ignored(*FENCED, fenced) == {"node is fenced already": 1}
    assert ignored(*EXPELLED, b.node_expelled("n1", **T1)) == {"node is expelled already": 1}


def test_peers_that_fail_because_of_a_lost_node_use_up_no_retry() -> None:
    """They mostly fail first: the node is called lost only seconds later."""
    failed = b.container_exited("a", rank=1, node_id="n2", exit_code=1)
    stop = b.stop_requested("a", cause="failure", reason="container 1 ended with exit code 1")
    state = b.state_of(
        *RUNNING,
        failed,
        stop,
        b.node_lost("n1"),
        b.node_expelled("n1", **T1),
        b.node_fenced("n1", **T1),
    )
    assert not state.apps["a"].failure_counts
