"""Planted breaches: an invariant that cannot fail guards nothing."""

import attrs
import pytest

from events.catalog import Event
from events.generations import Member
from events.invariants import check, violations
from events.layouts import Slots
from events.state import ClusterState, Exit
from tests import builders as b

PLACED = (
    b.a_node("n1", cpus=2, gpus=2),
    b.an_app("a", gpus=1),
    b.an_app("c", gpus=1),
    b.a_layout({"a": {"n1": 1}, "c": {"n1": 1}}, input_revision=3),
)


def started(*events: Event) -> ClusterState:
    """The state after `PLACED` and these events, all of which made sense."""
    state = b.state_of(*PLACED, *events)
    assert {} == state.ignored
    return state


def second_gpu(port: int = 20_500, device: str = b.gpu("n1", 1)) -> Event:
    """Start `c` beside `a`, by default on the other device."""
    member = Member(rank=0, node_id="n1", port=port, devices=(device,))
    return attrs.evolve(b.a_generation("c", "n1"), members=(member,))


FIRST = b.a_generation("a", "n1", gpus=1, first_port=20_400)


def test_two_apps_side_by_side_are_sound() -> None:
    """The situation that each breach below is planted into."""
    state = started(FIRST, second_gpu())

    assert state is check(state)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((FIRST, second_gpu(device=b.gpu("n1", 0))), "device GPU-n1-0 on n1 is given to a and c"),
        ((FIRST, second_gpu(port=20_400)), "port 20400 on n1 is given to a and c"),
        ((FIRST, second_gpu(device="GPU-x")), "c has device GPU-x, which n1 does not have"),
        ((b.a_generation("a", "n1", "n1", "n1"),), "n1 is overfilled"),
    ],
)
def test_a_node_that_gives_something_twice_is_reported(
    events: tuple[Event, ...], words: str
) -> None:
    """Two trainings on one GPU are slow or dead, and nobody knows why."""
    assert any(words in problem for problem in violations(started(*events)))


def test_a_machine_that_shrank_under_its_containers_is_no_breach() -> None:
    """Nor under a decision that did not know: both are for the layout to answer."""
    under_containers = started(FIRST, second_gpu(), b.a_node("n1", cpus=1))
    under_the_decision = started(b.a_node("n1", cpus=1), FIRST, second_gpu())

    assert () == violations(under_containers)
    assert () == violations(under_the_decision)


def test_each_broken_app_is_reported() -> None:
    """Planted by hand, since no fold comes here."""
    state = started(FIRST)
    app = state.apps["a"]
    assert app.generation is not None
    outcome = b.state_of(b.an_app("a"), b.app_cancelled("a")).finished["a"].outcome
    outside = {7: Exit(exit_code=0, reason="exited")}
    broken = {
        "a has an outcome and is not finished": attrs.evolve(app, outcome=outcome),
        "a has a partition of no containers": attrs.evolve(app, partition={"n1": _no_slots()}),
        "a runs generation 1, not its last": attrs.evolve(app, last_generation=2),
        "a has a container outside of its generation": attrs.evolve(
            app, generation=attrs.evolve(app.generation, exits=outside)
        ),
    }

    for sentence, planted in broken.items():
        assert sentence in violations(attrs.evolve(state, apps={**state.apps, "a": planted}))


def test_each_broken_end_is_reported() -> None:
    """A finished application holds nothing, and is not alive as well."""
    state = attrs.evolve(started(FIRST), finished={"a": started(FIRST).apps["a"]})

    assert violations(state) == (
        "a is finished and unfinished",
        "a is finished without an outcome",
        "a is finished and has containers",
        "a is finished and has a partition",
    )


def test_a_container_on_a_node_that_is_not_there_is_reported() -> None:
    """Nobody would ever report its end."""
    state = attrs.evolve(started(FIRST), nodes={})

    with pytest.raises(AssertionError, match="a has a container on unknown node n1"):
        check(state)


def _no_slots() -> Slots:
    slots = Slots(count=1)
    object.__setattr__(slots, "count", 0)  # its own validator would refuse it
    return slots
