"""The errors of Dorm, named for what the caller does next."""


class DormError(Exception):
    """The root of every error that Dorm raises on purpose."""


class Rejected(DormError):
    """The request cannot be carried out as it stands: tell the user what to change.

    Attributes:
        field: Where in the request the fault lies, such as `scale.min`; empty when it is all of it.
        value: What was given there, already short enough to print.
        rule: The rule that it breaks, a sentence without a full stop.
        hint: The way out, a sentence without a full stop.
    """

    def __init__(self, rule: str, *, field: str = "", value: str = "", hint: str = "") -> None:
        """Keep the four parts, and join them into one message."""
        self.field, self.value, self.rule, self.hint = field, value, rule, hint
        where = f"{field}: " if field else ""
        what = f"{value} " if value else ""
        way_out = f" ({hint})" if hint else ""
        super().__init__(f"{where}{what}{rule}{way_out}")


class Conflict(Rejected):
    """The request contradicts one that was accepted before, such as a reused idempotency key."""


class Full(Rejected):
    """The store is too full for such a request now; the same one may pass when there is room."""


class NotFound(Rejected):
    """The request names an application or a node that Dorm does not know."""


class Fenced(DormError):
    """Another master leads: stop acting as leader, and campaign again."""


class Unavailable(DormError):
    """A service did not answer in time: back off and try again. The outcome may be unknown."""


class NoSpace(Unavailable):
    """etcd is full, and refuses every write until an operator makes room."""


class Compacted(DormError):
    """A watch was overtaken by compaction: list again, then watch from there.

    Attributes:
        revision: The first revision that can still be watched.
    """

    def __init__(self, revision: int) -> None:
        """Remember where the history that can be watched begins."""
        self.revision = revision
        super().__init__(f"the history before revision {revision} is compacted")


class Missed(DormError):
    """An event was overlooked, so what was folded has a hole: forget it, and read again."""


class Archived(DormError):
    """What was asked for is not in the log any more: read the archive, or begin behind it.

    Attributes:
        segment: The first segment that the log still has.
        revision: The log still has everything behind it.
    """

    def __init__(self, segment: int, revision: int) -> None:
        """Remember where the log begins now."""
        self.segment, self.revision = segment, revision
        super().__init__(
            f"the log begins with segment {segment}, behind revision {revision}: what was before "
            "is in the archive"
        )


class Corrupt(DormError):
    """The history cannot be trusted: stop. With a part skipped, it would be another history."""


class Regressed(Corrupt):
    """The store has another history than before: hold, and wait for an operator's new epoch."""
