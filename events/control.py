"""Facts about the control plane itself."""

import attrs


@attrs.frozen(kw_only=True)
class LeaderElected:
    """A master became leader. `epoch` is the create revision of its leader key."""

    master: str
    epoch: int


@attrs.frozen(kw_only=True)
class StoreEpochBegan:
    """An operator vouched for a store that was restored from a backup.

    What the log had gained since the backup is lost, but not what it had led to: containers. From
    here on agents obey again, and treat as orphans what this history does not know.

    Attributes:
        epoch: Of the store; 1 before the first restore, and higher than any that a witness knew.
        store_id: New with each epoch, so that two restores of one backup are told apart.
        found_revision: Where the store stood.
        lost_revision: The latest that a witness had seen of the history before; 0 if none spoke.
        witnesses: Who had found out: `node/<name>` or `master/<name>`.
    """

    epoch: int
    store_id: str
    found_revision: int
    lost_revision: int = 0
    witnesses: tuple[str, ...] = ()


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
