"""The fold over any history: sound after each step, the same in one go, in pieces and in bytes."""

from hypothesis import given
from hypothesis import strategies as st

from events.apps import AppSubmitted
from events.codec import decode, encode
from events.fold import apply, fold
from events.invariants import violations
from events.recorded import Recorded
from events.snapshot import dump, restore, state_hash
from events.state import ClusterState
from tests.histories import histories


@given(histories())
def test_every_state_on_the_way_is_sound(history: tuple[Recorded, ...]) -> None:
    """Invariants hold in every state, not only at the end."""
    state = ClusterState()
    for recorded in history:
        state = apply(state, recorded)

        assert () == violations(state)


@given(histories(), st.data())
def test_a_fold_may_pause_anywhere(history: tuple[Recorded, ...], data: st.DataObject) -> None:
    """A tailer folds whatever arrived; a master begins from a snapshot. Both end alike."""
    cut = data.draw(st.integers(0, len(history)))
    first = fold(history[:cut])

    assert fold(history) == fold(history[cut:], first)
    assert state_hash(fold(history)) == state_hash(fold(history[cut:], restore(dump(first))))


@given(histories())
def test_one_by_one_is_the_same_as_all_at_once(history: tuple[Recorded, ...]) -> None:
    """Auditors step through a history that masters took in batches."""
    state = ClusterState()
    for recorded in history:
        state = apply(state, recorded)

    assert dump(fold(history)) == dump(state)


@given(histories())
def test_a_stored_history_folds_to_the_same_state(history: tuple[Recorded, ...]) -> None:
    """Nothing that matters is lost on the way through etcd or an archive."""
    stored = [
        decode(encode(recorded), revision=recorded.revision, segment=recorded.segment)
        for recorded in history
    ]

    assert list(history) == stored
    assert state_hash(fold(history)) == state_hash(fold(stored))


@given(histories())
def test_a_snapshot_keeps_the_order_of_every_map(history: tuple[Recorded, ...]) -> None:
    """Applications stand in order of submission; a master from a snapshot must serve them so."""
    state = fold(history)
    loaded = restore(dump(state))

    assert state == loaded
    assert list(state.apps) == list(loaded.apps)
    assert list(state.finished) == list(loaded.finished)
    assert list(state.nodes) == list(loaded.nodes)
    assert state_hash(state) == state_hash(loaded)


@given(histories())
def test_no_app_is_ever_lost(history: tuple[Recorded, ...]) -> None:
    """An accepted submit stays in the state until, and after, its one end."""
    state = fold(history)
    submitted = {r.event.app_id for r in history if isinstance(r.event, AppSubmitted)}

    assert submitted == state.apps.keys() | state.finished.keys()
