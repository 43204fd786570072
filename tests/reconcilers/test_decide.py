"""Decisions on plain data: what is asked, what is checked, and what happens when a check fails."""

import doctest
import math
import re
import subprocess
import sys
from typing import Any

import attrs
import pytest

from events.apps import SpeedPoint
from events.units import Resources
from reconcilers.layout import POLICIES, Decision, Snapshot, decide
from reconcilers.layout.check import problems
from reconcilers.layout.decide import checked
from reconcilers.layout.policies.drf.settle import drf
from reconcilers.layout.snapshot import NodeOffer
from tests.builders import amount
from tests.reconcilers.snapshots import a_request, a_role, a_snapshot, an_offer, sizes

FULL = a_snapshot(
    an_offer("n1"),
    an_offer("n2"),
    a_request("a", placement={"n1": 2}),
    a_request("b", min=2, max=2, roles=(a_role(),), priority=-1, submitted_ms=1),
)


def sound() -> Decision:
    """A decision on `FULL` that breaks no rule."""
    return Decision(
        placements={"a": {"n1": 2}, "b": {"n2": 2}},
        role_placements={"b": {"ps": {"n2": 1}}},
        objective=1.0,
        bound=1.0,
    )


def test_the_example_for_other_simulators_runs() -> None:
    """Whoever copies it from the docstring begins with something that works."""
    found = doctest.testmod(sys.modules[decide.__module__])

    assert found.attempted > 0
    assert 0 == found.failed


# The checker


def test_a_sound_decision_passes() -> None:
    """Otherwise the checker would prove nothing by objecting."""
    assert () == problems(FULL, sound())


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"placements": {"a": {"n1": 2}, "z": {"n1": 1}}}, "z is no application"),
        ({"placements": {"a": {"n9": 2}}}, "a has containers on n9, which is no node"),
        ({"placements": {"a": {"n1": 2, "n2": 0}}}, "a has nodes with less than one container"),
        ({"placements": {"a": {"n1": 4, "n2": 1}}}, "a has 5 containers, not 1 to 4"),
        ({"placements": {"a": {"n1": 2}, "b": {"n2": 1}}}, "b has 1 containers, not 2 to 2"),
        ({"role_placements": {}}, "b has 0 containers of role ps, not 1"),
        ({"role_placements": {"b": {"ps": {"n2": 2}}}}, "b has 2 containers of role ps, not 1"),
        ({"role_placements": {"b": {"ps": {"n2": 3}}}}, "n2 has 4000 cpu_milli, and 5000"),
        (
            {"role_placements": {"b": {"ps": {"n2": 1}, "x": {"n2": 1}}}},
            "b has 1 containers of role x, not 0",
        ),
        ({"placements": {}, "role_placements": {}, "released": ("a",)}, "a is released, and"),
        ({"placements": {"a": {"n1": 3}, "b": {"n2": 2}}}, "a is touched, and not listed"),
        ({"touched": ("a",)}, "a is listed as touched, and is not"),
        ({"released": ("a",)}, "released are [], and listed ['a']"),
        ({"objective": 1.1}, "the objective 1.1 is above its bound 1.0"),
        ({"objective": float("nan")}, "objective, bound, gap and loss are (nan, 1.0"),
    ],
)
def test_the_checker_sees_what_is_wrong(changes: dict[str, Any], problem: str) -> None:
    """It is the net under every policy, so each of its rules must be able to fail."""
    found = problems(FULL, attrs.evolve(sound(), **changes))

    assert any(sentence.startswith(problem) for sentence in found), found


def test_what_was_just_changed_is_not_changed_again() -> None:
    """An application that is moved every minute only moves."""
    snapshot = a_snapshot(
        an_offer("n1"), a_request("a", placement={"n1": 2}, ran_ms=1_000), min_run_ms=60_000
    )
    grown = Decision(placements={"a": {"n1": 3}}, touched=("a",))

    assert ("a was changed 1000 ms ago, and is changed again",) == problems(snapshot, grown)


def test_a_higher_priority_may_release_a_lower_one() -> None:
    """That is what a priority means; the released one is named."""
    snapshot = a_snapshot(
        an_offer("n1"), a_request("low", placement={"n1": 4}), a_request("high", priority=1)
    )
    decision = Decision(placements={"high": {"n1": 4}}, released=("low",))
    same = attrs.evolve(snapshot, apps=tuple(attrs.evolve(a, priority=0) for a in snapshot.apps))

    assert () == problems(snapshot, decision)
    assert ("low is released, and nobody of a higher priority gains",) == problems(same, decision)


# The fallback


def test_a_policy_that_breaks_a_rule_is_overruled_by_fairness() -> None:
    """A wrong layout would overfill machines; a fair one is only less good."""

    def greedy(_: Snapshot) -> Decision:
        return Decision(placements={"a": {"n1": 99}})

    actual = checked(FULL, greedy)

    assert drf(FULL).placements == actual.placements
    assert "drf/2" == actual.version
    assert actual.fallback.startswith("drf broke a rule: a has 99 containers, not 1 to 4; n1 has")


def test_a_decision_without_a_fallback_says_nothing_of_it() -> None:
    """An operator watches that field for trouble."""
    assert "" == decide(FULL).fallback


def test_equal_snapshots_have_equal_hashes_and_others_not() -> None:
    """The hash proves what a decision was taken from."""
    other = attrs.evolve(FULL, options=attrs.evolve(FULL.options, seed=1))

    assert decide(FULL).input_hash == decide(attrs.evolve(FULL)).input_hash
    assert decide(FULL).input_hash != decide(other).input_hash
    assert 64 == len(decide(FULL).input_hash)


# Snapshots that contradict themselves


@pytest.mark.parametrize(
    ("snapshot", "fault"),
    [
        (a_snapshot(an_offer("n1"), an_offer("n1")), "node n1 is in the snapshot twice"),
        (a_snapshot(a_request("a"), a_request("a")), "application a is in the snapshot twice"),
        (a_snapshot(a_request(min=3, max=2)), "a has a maximum of 2, below its minimum of 3"),
        (a_snapshot(a_request(demand=amount())), "a asks for nothing"),
        (
            a_snapshot(an_offer("n1"), a_request(placement={"n2": 1})),
            "a has containers on n2, which is not in the snapshot",
        ),
        (
            a_snapshot(an_offer("n1"), a_request(placement={"n1": 0})),
            "a has a placement of less than one container on a node",
        ),
        (
            a_snapshot(an_offer("n1", cpus=9), a_request(placement={"n1": 5})),
            "a has 5 containers, above 4",
        ),
        (
            a_snapshot(an_offer("n1"), a_request(role_placement={"ps": {"n1": 1}})),
            "a has containers of role ps, which it does not ask for",
        ),
        (
            a_snapshot(an_offer("n1", cpus=2), a_request(placement={"n1": 3})),
            "n1 has Resources(cpu_milli=2000",
        ),
        (a_snapshot(a_request(demand=Resources(cpu_milli=-1, gpu_count=1))), "a asks for Res"),
        (a_snapshot(a_request(), touch_factor=1e308), "the options have a factor"),
        (a_snapshot(a_request(max=10**30)), "a asks for more than 1000000 containers"),
        (a_snapshot(a_request(weight=math.inf)), "a has a weight above"),
        (
            a_snapshot(a_request(speed=(SpeedPoint(containers=1, speed=math.inf),))),
            "a has a speed above",
        ),
        (a_snapshot(a_request(priority=-(2**70))), "a has a priority or a time beyond"),
        (a_snapshot(a_request(ran_ms=2**70)), "a has a priority or a time beyond"),
        (
            a_snapshot(NodeOffer(node_id="n1", capacity=Resources(memory_bytes=2**65))),
            "the nodes together have",
        ),
        (
            a_snapshot(a_request(roles=(a_role(), a_role()))),
            "a has two roles of the same name",
        ),
        (
            a_snapshot(
                an_offer("n1", cpus=9),
                a_request(
                    roles=(a_role(),),
                    role_placement={"ps": {"n1": 2}},
                ),
            ),
            "a has more containers of role ps than 1",
        ),
    ],
)
def test_a_snapshot_that_contradicts_itself_is_refused(snapshot: Snapshot, fault: str) -> None:
    """Its decision would be about a cluster that cannot be."""
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}"):
        decide(snapshot)


@pytest.mark.parametrize("policy", POLICIES)
def test_an_empty_snapshot_has_an_empty_decision(policy: str) -> None:
    """Total: no node, no application, no division by zero."""
    assert {} == sizes(decide(a_snapshot(policy=policy)))
    assert {} == sizes(decide(a_snapshot(an_offer(), policy=policy)))
    assert {} == sizes(decide(a_snapshot(a_request(), policy=policy)))
    assert {} == sizes(decide(a_snapshot(a_request(is_evicted=True), policy=policy)))


def test_whoever_asks_for_no_solver_loads_none() -> None:
    """A node's agent and `dorm ps` read layouts too, and must not wait for numpy."""
    code = (
        "import sys, reconcilers.layout; print({'numpy', 'highspy', 'networkx'} & {*sys.modules})"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "set()" == found.stdout.strip(), found.stdout


@pytest.mark.parametrize("policy", POLICIES)
def test_a_node_that_owes_room_takes_none_from_the_others(policy: str) -> None:
    """Its debt would lower the bound below what the healthy nodes hold: refused by the check."""
    debt = NodeOffer(node_id="n1", capacity=amount(4, 16), available=amount(0, 0) - amount(3, 12))

    decision = decide(a_snapshot(debt, an_offer("n2"), a_request("a", max=4), policy=policy))

    assert sizes(decision) == {"a": 4}
    assert not decision.fallback
