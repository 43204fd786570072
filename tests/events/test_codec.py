"""Events to bytes and back."""

import msgspec
import pytest
from hypothesis import given

from events.apps import AppChanged, Scale, SpeedPoint
from events.codec import decode, digest, encode, from_json, segment_digest, to_json
from events.errors import Corrupt
from events.recorded import Recorded
from events.upcasts import UPCASTS
from tests import builders as b
from tests.strategies import envelopes


@given(envelopes())
def test_every_event_comes_back_as_it_was_and_to_the_same_bytes(recorded: Recorded) -> None:
    """What is read is what was written, so two readers of one history hold one history."""
    raw = encode(recorded)
    again = decode(raw, revision=recorded.revision, segment=recorded.segment)

    assert recorded == again
    assert raw == encode(again)


def test_equal_values_are_equal_bytes() -> None:
    """Hashes are taken over bytes, and a map has no order of its own."""
    assert to_json({"b": 1, "a": 2}) == to_json({"a": 2, "b": 1}) == b'{"a":2,"b":1}'


def stored(kind: str = "app.cancelled/1", data: str = '{"app_id":"a"}') -> bytes:
    """An envelope as it would stand in etcd."""
    return f'{{"id":"m1-0000000001-000","kind":"{kind}","at":1,"actor":"x","data":{data}}}'.encode()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (stored(kind="app.paused/1"), "'app.paused/1', .* written by a newer Dorm, so upgrade"),
        (stored(kind="app.cancelled/2"), "'app.cancelled/2', .* written by a newer Dorm"),
        (stored(data="{}"), "m1-0000000001-000 at revision 7 is no app.cancelled/1: .*`app_id`"),
        (stored(data='{"app_id":7}'), "Expected `str`, got `int`"),
        (
            stored(kind="app.changed/2", data='{"app_id":"a","weight":-1}'),
            "weight is -1.0, which is no share of a cluster",
        ),
        (stored(kind="app.changed/2", data='{"app_id":"a","scale":{"min":2,"max":1}}'), "below"),
        (b"", "cannot decode"),
        (b"[]", "cannot decode"),
        (b"{" * 1000, "cannot decode"),
        (b'{"x":' + b"[" * 100_000, "cannot decode"),
    ],
)
def test_what_cannot_be_read_stops_the_reader_and_says_why(raw: bytes, words: str) -> None:
    """A reader never skips an event: a history with a hole is a different history."""
    with pytest.raises(Corrupt, match=words):
        decode(raw, revision=7, segment=0)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan")])
def test_a_weight_that_could_not_be_read_again_is_not_made(weight: float) -> None:
    """JSON turns infinity into null: one such event would stop every reader for ever."""
    with pytest.raises(ValueError, match="no share of a cluster"):
        AppChanged(app_id="a", weight=weight)
    with pytest.raises(ValueError, match="no share of a cluster"):
        b.a_spec(weight=weight)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([(8, 0.0)], "speed of 8 containers is 0.0: give a number above 0"),
        ([(1, float("inf"))], "speed of 1 container is inf: give a number above 0"),
        ([(2, 1.0), (2, 1.5)], "speed of 2 containers is given twice: keep one"),
        ([(size, 1.0) for size in range(1, 70)], "speed has 69 points; 64 are enough"),
    ],
)
def test_a_speed_curve_that_is_none_is_not_made(
    points: list[tuple[int, float]], words: str
) -> None:
    """A layout divides by these; a curve must have one speed for each size."""
    curve = tuple(SpeedPoint(containers=size, speed=speed) for size, speed in points)

    with pytest.raises(ValueError, match=words):
        b.a_spec(speed=curve)


@pytest.mark.parametrize("priority", [-1001, 1001])
def test_a_priority_has_bounds(priority: int) -> None:
    """So that no application of tomorrow is beyond every one of today."""
    with pytest.raises(ValueError, match="priority"):
        b.a_spec(priority=priority)
    with pytest.raises(ValueError, match="priority"):
        b.app_changed(priority=priority)


def test_a_value_of_another_shape_is_refused() -> None:
    """Documents and snapshots are read with the same care as events."""
    with pytest.raises(Corrupt, match=r"cannot decode Scale from b'\{\"min\":3.*below min"):
        from_json(b'{"min":3,"max":1}', Scale)


def test_an_event_of_an_old_version_is_read_as_a_new_one_and_keeps_its_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The audit chain and archives hold the old bytes, whatever today's version would write."""

    def rename(data: msgspec.Raw) -> msgspec.Raw:
        old = msgspec.json.decode(data)
        return msgspec.Raw(msgspec.json.encode({"app_id": old["job_id"]}))

    monkeypatch.setitem(UPCASTS, "job.ended/1", ("app.cancelled/1", rename))
    raw = stored(kind="job.ended/1", data='{"job_id":"a"}')

    recorded = decode(raw, revision=7, segment=0)

    assert b.app_cancelled("a") == recorded.event
    assert raw == encode(recorded)


def test_a_segment_is_digested_with_its_revisions() -> None:
    """The same events at other revisions are another history."""
    one, two = b.history(b.a_node("n1"), b.a_node("n2"))

    assert segment_digest([one, two]) == digest(b"1 " + encode(one) + b"\n2 " + encode(two) + b"\n")
    assert segment_digest([]) == digest(b"")
