"""The protocol of the event log, and the log in memory.

Whatever keeps this protocol passes `tests/contracts/log_contract.py`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import attrs

from events.apps import AppSubmitted
from events.catalog import Event
from events.codec import decode, digest, encode, to_json
from events.errors import Conflict, Corrupt, Fenced
from events.recorded import Recorded, Stamp

EVENTS_PER_APPEND_MAX = 100
"""etcd takes 128 operations a transaction by default (server/embed/config.go)."""


@attrs.frozen(kw_only=True)
class Page:
    """A piece of the log, in order.

    Attributes:
        recorded: Whole transactions: those of one revision are never split over pages.
        through: Every event up to and including this revision, from where the read began, is in
            this page. Read on from here.
        at_end: Whether that was all there is now.
    """

    recorded: tuple[Recorded, ...]
    through: int
    at_end: bool


@attrs.frozen(kw_only=True)
class Receipt:
    """The answer to a submit. `duplicate` tells that the same key was accepted before."""

    app_id: str
    revision: int
    duplicate: bool = False


class EventLog(Protocol):
    """Events in one total order, appended once, never changed."""

    def enter(self, epoch: int, mark_revision: int) -> None:
        """Write into this epoch of the store from here on, and into no other.

        What was in doubt in another epoch stays behind: it does not get into this one any more.

        Args:
            epoch: Of the store.
            mark_revision: Mod revision of the mark that says so.
        """
        ...

    async def append(
        self, events: Sequence[Event], *, stamp: Stamp, fence: int | None = None
    ) -> int:
        """Write all events in one transaction, exactly once, and return its revision.

        A try whose answer was lost is settled before anything else is written, so a caller may
        call again with the same events only after `settle` told what became of them.

        Args:
            events: One to `EVENTS_PER_APPEND_MAX`.
            stamp: Who, when and why.
            fence: The leader's epoch. Written only while that leader is in office.

        Raises:
            Fenced: Another master leads.
            Regressed: The store was restored from a backup since.
            Unavailable: The outcome is unknown; `settle` finds out.
        """
        ...

    async def settle(self) -> int | None:
        """Bring an append that ended in `Unavailable` to a definite end.

        Returns the revision at which it was written, or None when nothing is open or it was
        refused for good.

        Raises:
            Unavailable: Still not known.
        """
        ...

    async def submit(self, event: AppSubmitted, *, key: str, stamp: Stamp) -> Receipt:
        """Write a user's submit once per idempotency key.

        Raises:
            Conflict: The key was used for another submit.
            Unavailable: The outcome is unknown; the same call with the same key is safe.
        """
        ...

    async def receipt(self, event: AppSubmitted, *, key: str) -> Receipt | None:
        """Return the answer to a submit that was accepted before; None when there was none.

        Raises:
            Conflict: The key was used for another submit.
            Unavailable: Try again.
        """
        ...

    async def read(self, *, after: int = 0) -> Page:
        """Return the next events behind revision `after`, at most one segment of them.

        Raises:
            Archived: They are not all in the log any more.
            Unavailable: Try again.
            Corrupt: What is stored is no event, or the log does not reach as far as `after`.
        """
        ...


class MemoryLog:
    """The log as a list, for tests and for reading exported histories.

    Attributes:
        epoch: The epoch of the leader in office, for tests of fencing.
        doorbell: Called after each append.
    """

    def __init__(self, *, producer: str = "memory", page_size: int = 1000) -> None:
        """Start an empty log."""
        self.recorded: list[Recorded] = []
        self.epoch = 0
        self.doorbell: Callable[[], None] = lambda: None
        self._producer, self._page_size = producer, page_size
        self._batch = 0
        self._previous = ""
        self._submits: dict[str, tuple[str, Receipt]] = {}

    @property
    def revision(self) -> int:
        """Return the revision of the last transaction."""
        return self.recorded[-1].revision if self.recorded else 0

    def record(self, event: Event, *, stamp: Stamp) -> Recorded:
        """Append one event, for tests that build a history step by step."""
        self._write((event,), stamp)
        return self.recorded[-1]

    def enter(self, epoch: int, mark_revision: int) -> None:
        """See `EventLog`. A memory is never restored from a backup."""

    async def append(
        self, events: Sequence[Event], *, stamp: Stamp, fence: int | None = None
    ) -> int:
        """See `EventLog`."""
        check_batch(events)
        if fence is not None and fence != self.epoch:
            msg = f"epoch {fence} is over; the leader's is {self.epoch}"
            raise Fenced(msg)
        return self._write(events, stamp)

    async def settle(self) -> int | None:
        """See `EventLog`. Nothing is ever open here."""
        return None

    async def submit(self, event: AppSubmitted, *, key: str, stamp: Stamp) -> Receipt:
        """See `EventLog`."""
        body = digest(to_json(event.spec))
        if key in self._submits:
            return repeated(key, body, *self._submits[key])
        revision = self._write((event,), stamp)
        receipt = Receipt(app_id=event.app_id, revision=revision)
        self._submits[key] = body, receipt
        return receipt

    async def receipt(self, event: AppSubmitted, *, key: str) -> Receipt | None:
        """See `EventLog`."""
        first = self._submits.get(key)
        return None if first is None else repeated(key, digest(to_json(event.spec)), *first)

    async def read(self, *, after: int = 0) -> Page:
        """See `EventLog`."""
        if after > self.revision:
            raise Corrupt(f"the log ends at revision {self.revision}, but {after} was read before")
        rest = [recorded for recorded in self.recorded if recorded.revision > after]
        if len(rest) <= self._page_size:
            return Page(recorded=tuple(rest), through=self.revision, at_end=True)
        cut = rest[self._page_size - 1].revision
        page = tuple(recorded for recorded in rest if recorded.revision <= cut)
        return Page(recorded=page, through=cut, at_end=len(page) == len(rest))

    def _write(self, events: Sequence[Event], stamp: Stamp) -> int:
        self._batch += 1
        revision = self.revision + 1
        for index, event in enumerate(events):
            stored = encode(
                Recorded(
                    event_id=event_id(self._producer, self._batch, index),
                    stamp=stamp,
                    previous=self._previous,
                    event=event,
                )
            )
            self._previous = digest(stored)
            # A reader gets what was stored, never the writer's own object.
            self.recorded.append(decode(stored, revision=revision, segment=0))
        self.doorbell()
        return revision


def event_id(producer: str, batch: int, index: int) -> str:
    """Return the id of one event: sortable within its producer."""
    return f"{producer}-{batch:010d}-{index:03d}"


def check_batch(events: Sequence[Event]) -> None:
    """Refuse a batch that one transaction cannot hold."""
    if not 1 <= len(events) <= EVENTS_PER_APPEND_MAX:
        msg = f"an append takes 1 to {EVENTS_PER_APPEND_MAX} events, not {len(events)}"
        raise ValueError(msg)


def repeated(key: str, body: str, first_body: str, first: Receipt) -> Receipt:
    """Return the first answer to a submit that comes again.

    Raises:
        Conflict: It is another submit under the same key.
    """
    if body != first_body:
        raise Conflict(
            f"was used for {first.app_id}, with another spec",
            field="idempotency key",
            value=key,
            hint="use a new key for a new application",
        )
    return attrs.evolve(first, duplicate=True)
