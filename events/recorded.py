"""An event with its envelope: who recorded it, when, why, and where it stands in the log."""

import attrs

from events.catalog import Event


@attrs.frozen(kw_only=True)
class Stamp:
    """Who appends, and why.

    Attributes:
        at_ms: UTC epoch, by the clock of whoever appended it. For people, and for the state's idea
            of time (`ClusterState.now_ms`).
        actor: Such as `user/ann`, `master/m1`, `agent/n1`.
        cause: What led here: a request id, or the id of another event.
    """

    at_ms: int
    actor: str
    cause: str = ""


@attrs.frozen(kw_only=True)
class Recorded:
    """One event of the log.

    Attributes:
        event_id: `<producer>-<batch>-<index>`, unique for ever.
        revision: etcd's revision of the transaction that wrote it; 0 while it is not written.
        segment: The segment of the log that holds it.
        previous: sha256 of the same producer's previous event, as stored; empty for its first.
        original: The stored bytes of an event that an older wire version was read from, because
            encoding it anew would be another event to the audit chain; empty otherwise.
    """

    event_id: str
    revision: int = 0
    segment: int = 0
    stamp: Stamp
    previous: str = ""
    event: Event
    original: bytes = attrs.field(default=b"", eq=False, repr=False)

    @property
    def producer(self) -> str:
        """Return the name of the process that appended the event."""
        return self.event_id.rsplit("-", 2)[0]

    @property
    def position(self) -> tuple[int, str]:
        """Return the sort key of the log: revision, then the order inside the transaction."""
        return self.revision, self.event_id
