"""The decision as a fact, and the validator that knows nothing of the algorithm."""

import pytest

from events.catalog import Event
from events.layouts import CHANGES_PER_PART_MAX, LayoutDecided, Slots
from reconcilers import layout
from reconcilers.layout.validate import problems
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    checkpoint_requested,
    gpu,
    node_lost,
    state_of,
)
from tests.reconcilers.situations import fair, pinned

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
        (decision,) = layout.plan(fair(*events))

        assert 2 == decision.changes["a"].generation


def test_a_decision_says_what_it_was_taken_from() -> None:
    """An auditor needs the rule and the revision to take it again."""
    state = fair(a_node("n1"), an_app("a"))

    (decision,) = layout.plan(state)

    assert ("drf/2", 3, 1, 1) == (
        decision.policy,
        decision.input_revision,
        decision.part,
        decision.parts,
    )
    assert decision.decision_id.startswith("3-")


def test_a_large_decision_comes_in_parts_under_one_id() -> None:
    """One transaction of etcd takes 1.5 MiB; the fold waits for the last part."""
    count = CHANGES_PER_PART_MAX + 1
    apps = [an_app(f"a{number}", max=1) for number in range(count)]
    events: list[Event] = [a_node("n1", cpus=count, memory_gib=count), *apps]

    parts = layout.plan(fair(*events))

    assert [(1, 2, CHANGES_PER_PART_MAX), (2, 2, 1)] == [
        (part.part, part.parts, len(part.changes)) for part in parts
    ]
    assert 1 == len({part.decision_id for part in parts})
    assert all(app.partition for app in fair(*events, *parts).apps.values())


def test_a_settled_layout_decides_nothing() -> None:
    """Level-triggered: looking twice changes nothing."""
    events: list[Event] = [
        a_node("n1", cpus=7),
        a_node("n2", cpus=3, gpus=2),
        an_app("a", cpus=2, max=9),
        an_app("b", gpus=1),
        an_app("c", max=9, weight=3.0),
    ]

    assert () == layout.plan(fair(*events, *layout.plan(fair(*events))))


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
