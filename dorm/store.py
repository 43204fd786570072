"""Whose history a store holds, as it stands in etcd: its mark, and the alarms of who doubts it."""

import attrs


@attrs.frozen(kw_only=True)
class StoreMark:
    """The value of the store's mark. A backup contains the mark of its time.

    Attributes:
        epoch: 1 at first; an operator begins the next one after a restore.
        store_id: New with each epoch.
        since_revision: Where the store stood when it began.
        at_ms, by: When and by whom, for people only.
    """

    epoch: int
    store_id: str
    since_revision: int
    at_ms: int
    by: str


@attrs.frozen(kw_only=True)
class Alarm:
    """The value of an alarm: a witness found another history than it knew.

    It is about one epoch of the store, and void in the next one.

    Attributes:
        witness: `node/<name>` or `master/<name>`.
        known_epoch, known_id, known_revision: How far the witness had seen.
        found_epoch, found_id, found_revision: What it found.
        reason: In words.
    """

    witness: str
    known_epoch: int
    known_id: str
    known_revision: int
    found_epoch: int
    found_id: str
    found_revision: int
    reason: str
    at_ms: int = 0
