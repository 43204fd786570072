"""Decisions that are taken again from the facts before them."""

from collections.abc import Iterable
from typing import Any

import attrs

from events.catalog import Event
from events.fold import fold
from events.layouts import LayoutDecided, PartitionChange, Slots
from events.log import MemoryLog
from events.recorded import Recorded
from reconcilers import audit, layout
from reconcilers.audit import Retaken, Verdict, retake
from tests.builders import BY_TEST, a_node, an_app, app_changed, leader_elected, node_lost
from tests.reconcilers.situations import FAIRLY


def lived(*events: Event) -> list[Recorded]:
    """A history in which a layout was decided after each of these events."""
    log = MemoryLog()
    for event in (FAIRLY, *events):
        log.record(event, stamp=BY_TEST)
        for part in layout.plan(fold(log.recorded)):
            log.record(part, stamp=BY_TEST)
    return log.recorded


def verdicts(history: Iterable[Recorded]) -> list[Verdict]:
    """What came of each decision, in order."""
    return [retaken.verdict for retaken in retake(history)]


def forged(
    history: list[Recorded],
    index: int,
    **changes: Any,  # noqa: ANN401 - any field of the decision
) -> list[Recorded]:
    """The history, with some fields of its `index`-th decision changed."""
    places = [
        place for place, recorded in enumerate(history) if isinstance(recorded.event, LayoutDecided)
    ]
    place = places[index]
    decision = history[place].event
    assert isinstance(decision, LayoutDecided)
    event = attrs.evolve(decision, **changes)
    return [*history[:place], attrs.evolve(history[place], event=event), *history[place + 1 :]]


def test_an_honest_history_is_confirmed() -> None:
    """This is what `dorm-events verify` shows an auditor: the rule alone explains the layout."""
    history = lived(
        a_node("n1"), an_app("a"), an_app("b"), app_changed("b", weight=3.0), a_node("n2")
    )

    assert [Verdict.EQUAL] * 4 == verdicts(history)


def test_a_favour_is_found() -> None:
    """Someone gave an app more than its share: the difference is named."""
    favour = PartitionChange(generation=1, partition={"n1": Slots(count=1)}, reason="a favour")

    (found,) = retake(forged(lived(a_node("n1"), an_app("a")), 0, changes={"a": favour}))

    assert Verdict.DIFFERENT == found.verdict
    (difference,) = found.differences
    assert (
        "a: decided generation 1: 1 on n1 (a favour), taken again generation 1: 4 on n1 "
        "(4 containers; fair share 4 of 4 cpus; limited by scale.max 4)"
    ) == difference


def test_a_change_that_was_left_out_is_found() -> None:
    """An app that was passed over for no reason has a right to know."""
    history = lived(a_node("n1"), an_app("a"), an_app("b"))
    decision = history[-1].event
    assert isinstance(decision, LayoutDecided)
    only_a = {"a": decision.changes["a"]}

    *_, found = retake(forged(history, 1, changes=only_a))

    assert ("b: decided no change, taken again generation 1: 2 on n1",) == tuple(
        sentence.split(" (")[0] for sentence in found.differences
    )


def test_a_decision_is_taken_from_its_input_not_from_its_place() -> None:
    """Facts that came between reading and writing were not known to who decided."""
    log = MemoryLog()
    for event in (FAIRLY, a_node("n1"), a_node("n2"), an_app("a", max=9)):
        log.record(event, stamp=BY_TEST)
    (decision,) = layout.plan(fold(log.recorded))
    log.record(node_lost("n2"), stamp=BY_TEST)
    log.record(decision, stamp=BY_TEST)

    assert [Verdict.EQUAL] == verdicts(log.recorded)


async def test_the_input_is_the_state_after_all_events_of_its_revision() -> None:
    """Several facts share a transaction; a decision sees all of them or none."""
    log = MemoryLog()
    await log.append([FAIRLY, a_node("n1"), an_app("a"), an_app("b")], stamp=BY_TEST)
    await log.append(layout.plan(fold(log.recorded)), stamp=BY_TEST)

    assert [Verdict.EQUAL] == verdicts(log.recorded)


def test_the_parts_of_a_decision_are_judged_as_one() -> None:
    """A large decision is written in pieces, and takes effect with the last one."""
    history = lived(a_node("n1"), an_app("a"), an_app("b"))
    whole = history[-1].event
    assert isinstance(whole, LayoutDecided)
    log = MemoryLog()
    for recorded in history[:-1]:
        log.record(recorded.event, stamp=BY_TEST)
    for part, (app_id, change) in enumerate(whole.changes.items(), start=1):
        piece = attrs.evolve(whole, part=part, parts=2, changes={app_id: change})
        log.record(piece, stamp=BY_TEST)

    assert [Verdict.EQUAL, Verdict.EQUAL] == verdicts(log.recorded)
    assert [Verdict.EQUAL] == verdicts(log.recorded[:-1])  # Half a decision decides nothing.


def test_a_policy_of_another_version_is_reported_as_such() -> None:
    """Its decisions may be right; this Dorm cannot say."""
    (found,) = retake(forged(lived(a_node("n1"), an_app("a")), 0, policy="milp/7"))

    assert Verdict.UNKNOWN_POLICY == found.verdict
    known = "goodput/1, utilization/1, drf/2, static/1, two-level/1"
    assert (f"this Dorm knows {known}, not milp/7",) == found.differences


def test_a_decision_of_another_solver_is_reported_as_such() -> None:
    """Equal policies of unequal versions may decide otherwise, and both be right."""
    history = lived(a_node("n1"), an_app("a"))
    decision = next(one.event for one in history if isinstance(one.event, LayoutDecided))
    assert decision.quality is not None
    other = attrs.evolve(decision.quality, version="drf/2 with/another-solver")

    (found,) = retake(forged(history, 0, quality=other))

    assert Verdict.UNKNOWN_POLICY == found.verdict
    assert ("it was decided by drf/2 with/another-solver, and this Dorm has drf/2",) == (
        found.differences
    )


def test_a_decision_of_the_fallback_is_taken_again_with_the_fallback() -> None:
    """The rules asked for another policy; the decision names the one that made it."""
    log = MemoryLog()
    for event in (a_node("n1"), an_app("a"), an_app("b")):  # The rules ask for the optimizer.
        log.record(event, stamp=BY_TEST)
    for part in layout.plan(fold(log.recorded), "drf"):
        log.record(part, stamp=BY_TEST)

    assert [Verdict.EQUAL] == verdicts(log.recorded)


def test_a_history_that_begins_behind_the_input_says_so() -> None:
    """Replay may begin from a snapshot; what lies before it cannot be judged."""
    history = lived(a_node("n1"), an_app("a"))
    start = attrs.evolve(fold(history[:3]), revision=0)

    (found,) = retake(history[3:], start)

    assert Verdict.INPUT_NOT_SEEN == found.verdict


def test_a_history_that_begins_with_a_snapshot_is_judged_from_there() -> None:
    """The state of the snapshot itself may be the input."""
    history = lived(a_node("n1"), an_app("a"))

    assert [Verdict.EQUAL] == [found.verdict for found in retake(history[3:], fold(history[:3]))]


def test_only_a_bounded_number_of_states_is_kept() -> None:
    """A history of a year is audited in the memory of an hour."""
    log = MemoryLog()
    for event in (FAIRLY, a_node("n1"), an_app("a")):
        log.record(event, stamp=BY_TEST)
    (late,) = layout.plan(fold(log.recorded))
    for epoch in range(audit.STATES_KEPT):
        log.record(leader_elected(epoch=epoch + 1), stamp=BY_TEST)
    log.record(late, stamp=BY_TEST)

    assert [Verdict.INPUT_NOT_SEEN] == verdicts(log.recorded)


def test_a_report_names_the_decision() -> None:
    """An operator finds it in the log by its id and revision."""
    (found,) = retake(lived(a_node("n1"), an_app("a")))

    assert (
        Retaken(
            decision_id=found.decision_id,
            revision=4,
            input_revision=3,
            policy="drf/2",
            verdict=Verdict.EQUAL,
        )
        == found
    )
