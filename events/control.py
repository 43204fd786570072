"""Facts about the control plane itself."""

import attrs


@attrs.frozen(kw_only=True)
class LeaderElected:
    """A master became leader. `epoch` is the create revision of its leader key."""

    master: str
    epoch: int


@attrs.frozen(kw_only=True)
class SegmentSealed:
    """A segment of the log is closed for ever; nothing can be added to it.

    Attributes:
        segment: Its number.
        count: How many events it holds.
        first_revision, last_revision: Of its events; 0 when it is empty.
        sha256: Over the lines of its events in order, see `events.chain`.
        previous: The sha256 of the seal before, so that seals form a chain; empty for the first.
    """

    segment: int
    count: int
    first_revision: int
    last_revision: int
    sha256: str
    previous: str
