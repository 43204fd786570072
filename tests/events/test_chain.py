"""The audit chain: whatever happens to a stored history is named."""

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.catalog import Event
from events.chain import Audit, verify
from events.codec import digest, encode, segment_digest
from events.control import SegmentSealed
from events.log import event_id
from events.recorded import Recorded
from tests import builders as b
from tests.strategies import app_ids

PRODUCERS = ("m1-aaaaa", "n1-bbbbb", "n2-ccccc")


class Ledger:
    """Writes histories of several producers and segments, as the etcd log does."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.recorded: list[Recorded] = []
        self._segment = 0
        self._seal = ""
        self._batches: dict[str, int] = {}
        self._previous: dict[str, str] = {}

    def append(self, producer: str, *events: Event) -> None:
        """Write one transaction."""
        batch = self._batches[producer] = self._batches.get(producer, 0) + 1
        revision = self.recorded[-1].revision + 2 if self.recorded else 5
        for index, event in enumerate(events):
            recorded = Recorded(
                event_id=event_id(producer, batch, index),
                revision=revision,
                segment=self._segment,
                stamp=b.BY_TEST,
                previous=self._previous.get(producer, ""),
                event=event,
            )
            self._previous[producer] = digest(encode(recorded))
            self.recorded.append(recorded)

    def seal(self, producer: str = PRODUCERS[0]) -> None:
        """Close the segment, and write its seal into the next one."""
        closed = [event for event in self.recorded if event.segment == self._segment]
        seal = SegmentSealed(
            segment=self._segment,
            count=len(closed),
            first_revision=closed[0].revision if closed else 0,
            last_revision=closed[-1].revision if closed else 0,
            sha256=segment_digest(closed),
            previous=self._seal,
        )
        self._segment, self._seal = self._segment + 1, seal.sha256
        self.append(producer, seal)


@st.composite
def ledgers(draw: st.DrawFn) -> list[Recorded]:
    """Sound histories of one to three segments, everything before the last event sealed."""
    ledger = Ledger()
    for _ in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(0, 4))):
            events = draw(st.lists(app_ids.map(b.app_requeued), min_size=1, max_size=3))
            ledger.append(draw(st.sampled_from(PRODUCERS)), *events)
        ledger.seal(draw(st.sampled_from(PRODUCERS)))
    return ledger.recorded


def a_ledger() -> list[Recorded]:
    """Two sealed segments and an unsealed tail, of two producers."""
    ledger = Ledger()
    ledger.append("m1-aaaaa", b.an_app("a"), b.app_requeued("a"))
    ledger.append("n1-bbbbb", b.a_node("n1"))
    ledger.seal()
    ledger.append("n1-bbbbb", b.node_lost("n1"))
    ledger.append("m1-aaaaa", b.node_returned("n1"))
    ledger.seal()
    ledger.append("n1-bbbbb", b.app_requeued("b"))
    ledger.append("n1-bbbbb", b.app_requeued("c"))
    return ledger.recorded


@given(ledgers())
def test_a_sound_history_has_no_problem(history: list[Recorded]) -> None:
    """An audit that cries wolf is switched off."""
    assert () == verify(history)


def test_an_empty_segment_may_be_sealed() -> None:
    """A quiet cluster closes segments by age."""
    ledger = Ledger()
    ledger.seal()  # of an empty segment; the next one holds this seal
    ledger.seal()

    assert () == verify(ledger.recorded)


@given(ledgers(), st.data())
def test_a_deleted_event_is_missed(history: list[Recorded], data: st.DataObject) -> None:
    """All but the very last event of the history, which nothing stands behind to vouch for."""
    if len(history) < 2:
        return
    at = data.draw(st.integers(0, len(history) - 2))

    assert verify(history[:at] + history[at + 1 :])


@given(ledgers(), st.data())
def test_an_edited_event_is_found(history: list[Recorded], data: st.DataObject) -> None:
    """All but the very last, as above: the next seal and the producer's next event vouch for it."""
    if len(history) < 2:
        return
    at = data.draw(st.integers(0, len(history) - 2))
    edited = data.draw(st.sampled_from(EDITS))(history[at])

    assert verify([*history[:at], edited, *history[at + 1 :]])


def _other_event(recorded: Recorded) -> Recorded:
    return attrs.evolve(recorded, event=b.app_requeued("zz"))


def _other_actor(recorded: Recorded) -> Recorded:
    return attrs.evolve(recorded, stamp=attrs.evolve(recorded.stamp, actor="user/eve"))


def _other_time(recorded: Recorded) -> Recorded:
    return attrs.evolve(recorded, stamp=attrs.evolve(recorded.stamp, at_ms=0))


EDITS: tuple[Callable[[Recorded], Recorded], ...] = (_other_event, _other_actor, _other_time)


@given(ledgers(), st.data())
def test_events_that_changed_places_are_found(history: list[Recorded], data: st.DataObject) -> None:
    """Also when they take over each other's position, so that the order looks right."""
    if len(history) < 2:
        return
    first = data.draw(st.integers(0, len(history) - 2))
    second = data.draw(st.integers(first + 1, len(history) - 1))
    one, other = history[first], history[second]
    if data.draw(st.booleans()):
        one, other = (
            attrs.evolve(one, revision=other.revision, segment=other.segment),
            attrs.evolve(other, revision=one.revision, segment=one.segment),
        )
    swapped = [*history]
    swapped[first], swapped[second] = other, one

    assert verify(swapped)


@given(ledgers(), st.data())
def test_an_event_that_comes_twice_is_found(history: list[Recorded], data: st.DataObject) -> None:
    """At its own place or at any later one."""
    at = data.draw(st.integers(0, len(history) - 1))
    to = data.draw(st.integers(at, len(history)))

    assert verify([*history[:to], history[at], *history[to:]])


def test_a_sealed_segment_that_is_gone_is_missed() -> None:
    """Producers whose every event was in it leave no other trace."""
    ledger = Ledger()
    ledger.append("n9-zzzzz", b.node_lost("n9"))
    ledger.seal()
    history = ledger.recorded[1:]

    (count, sha256) = verify(history)

    assert "states 1 events of revisions 5 to 5, but the segment holds 0 events" in count
    assert "another sha256" in sha256


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda h: h[:1] + h[2:], "was written behind another event of its producer"),
        (lambda h: h[:2] + h[3:], "does not follow its start of its producer: events are missing"),
        (lambda h: [*h[:2], h[1], *h[2:]], "comes again, or late"),
        (lambda h: [h[0], h[2], h[1], *h[3:]], "is out of order"),
        (
            lambda h: [*h[:4], attrs.evolve(h[4], segment=0), *h[5:]],
            "is of segment 0, behind one of 1",
        ),
        (lambda h: [*h[:6], attrs.evolve(h[6], segment=1), *h[7:]], "inside the segment"),
        (lambda h: [attrs.evolve(h[0], event_id="m1"), *h[1:]], "has no id of the form"),
        (lambda h: h[:3] + h[4:], "does not follow the one of -1: seals are missing"),
        (lambda h: [*h[:3], _reseal(h[3]), *h[4:]], "names another seal before it"),
    ],
)
def test_each_kind_of_damage_has_its_own_sentence(
    damage: Callable[[list[Recorded]], list[Recorded]], words: str
) -> None:
    """An auditor reads the sentence, not the code."""
    problems = verify(damage(a_ledger()))

    assert [problem for problem in problems if words in problem], problems


def _reseal(recorded: Recorded) -> Recorded:
    assert isinstance(recorded.event, SegmentSealed)
    return attrs.evolve(recorded, event=attrs.evolve(recorded.event, previous="00"))


def test_what_the_chain_cannot_see_is_only_the_end_behind_the_last_seal() -> None:
    """The honest limit, which the module's page states; an outside note of the seal closes it."""
    history = a_ledger()
    last_event_gone = history[:-1]
    last_event_edited = [*history[:-1], _other_event(history[-1])]

    assert () == verify(last_event_gone)
    assert () == verify(history[:-2])
    assert () == verify(last_event_edited)
    assert verify([*history[:-2], history[-1]])


def test_an_audit_counts_what_it_has_seen() -> None:
    """`dorm-events verify` reports these, so that an empty history is not taken for a sound one."""
    audit = Audit()
    problems = [problem for recorded in a_ledger() for problem in audit.feed(recorded)]

    assert [] == problems
    assert (9, 1) == (audit.events, audit.sealed_segment)
    assert 64 == len(audit.seal)
