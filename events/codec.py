"""Events and documents to canonical bytes and back. For states see `events.snapshot`.

Canonical means: JSON, keys sorted, no spaces, so equal values are equal bytes.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from events import upcasts
from events.catalog import CATALOG, KIND_OF
from events.errors import Corrupt
from events.recorded import Recorded, Stamp

T = TypeVar("T")


def to_json(value: object) -> bytes:
    """Return any of our values as canonical JSON."""
    return msgspec.json.encode(value, order="sorted")


def from_json(raw: bytes, as_type: type[T]) -> T:
    """Return the value that `to_json` wrote.

    Raises:
        Corrupt: These bytes are no such value.
    """
    try:
        return msgspec.json.decode(raw, type=as_type)
    except (msgspec.MsgspecError, RecursionError) as error:  # Whoever wrote it may mean harm.
        msg = f"cannot decode {as_type.__name__} from {raw[:80]!r}: {error}"
        raise Corrupt(msg) from error


def digest(raw: bytes) -> str:
    """Return the sha256 of `raw`, in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


class _Envelope(msgspec.Struct, omit_defaults=True):
    """What is stored under an event's key. Revision and segment are the key's, not the value's."""

    id: str
    kind: str
    at: int
    actor: str
    data: msgspec.Raw
    cause: str = ""
    prev: str = ""


def encode(recorded: Recorded) -> bytes:
    """Return the stored form of an event: of one that was read, the very bytes it was read from."""
    if recorded.original:
        return recorded.original
    return to_json(
        _Envelope(
            id=recorded.event_id,
            kind=KIND_OF[type(recorded.event)],
            at=recorded.stamp.at_ms,
            actor=recorded.stamp.actor,
            cause=recorded.stamp.cause,
            prev=recorded.previous,
            data=msgspec.Raw(to_json(recorded.event)),
        )
    )


def decode(raw: bytes, *, revision: int, segment: int) -> Recorded:
    """Return the event that `encode` wrote, in its present version.

    Raises:
        Corrupt: The bytes are damaged, or written by a newer Dorm. A reader never skips an event:
            a history with a hole is a different history.
    """
    envelope = from_json(raw, _Envelope)
    kind, data = upcasts.to_present(envelope.kind, envelope.data)
    if kind not in CATALOG:
        msg = (
            f"event {envelope.id} at revision {revision} is of kind {kind!r}, which this Dorm "
            "does not know: it was written by a newer Dorm, so upgrade this one"
        )
        raise Corrupt(msg)
    try:
        event = msgspec.json.decode(data, type=CATALOG[kind])
    except (msgspec.MsgspecError, RecursionError) as error:
        msg = f"event {envelope.id} at revision {revision} is no {kind}: {error}"
        raise Corrupt(msg) from error
    return Recorded(
        event_id=envelope.id,
        revision=revision,
        segment=segment,
        stamp=Stamp(at_ms=envelope.at, actor=envelope.actor, cause=envelope.cause),
        previous=envelope.prev,
        event=event,
        original=raw if kind != envelope.kind else b"",
    )


def segment_line(recorded: Recorded) -> bytes:
    """Return what one event adds to the digest of its segment."""
    return b"%d %b\n" % (recorded.revision, encode(recorded))


def segment_digest(history: Iterable[Recorded]) -> str:
    """Return the sha256 that seals a segment of these events, in the order of the log."""
    sha256 = hashlib.sha256()
    for recorded in history:
        sha256.update(segment_line(recorded))
    return sha256.hexdigest()


def to_plain(value: object) -> Any:  # noqa: ANN401 - JSON is any of its kinds
    """Return a value as JSON-shaped Python: dicts, lists, strings, numbers."""
    return msgspec.to_builtins(value)
