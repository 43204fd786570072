"""A history told and added up. Equal histories give equal bytes."""

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import takewhile
from typing import Final

from events.apps import AppSubmitted
from events.errors import NotFound
from events.recorded import Recorded
from events.story import sentence, story, subjects

SUBJECTS_SHOWN: Final = 8


def until(
    history: Iterable[Recorded], *, revision: int | None = None, at_ms: int | None = None
) -> Iterator[Recorded]:
    """Yield the events up to a revision, and those before the first one later than a time."""

    def wanted(recorded: Recorded) -> bool:
        return (revision is None or recorded.revision <= revision) and (
            at_ms is None or recorded.stamp.at_ms <= at_ms
        )

    return takewhile(wanted, history)


def line(recorded: Recorded) -> str:
    """Return one line of a timeline: revision, time (UTC), and what happened."""
    at = datetime.fromtimestamp(recorded.stamp.at_ms / 1000, UTC)
    time = at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return f"{recorded.revision:>8}  {time}  {sentence(recorded)}"


def last(history: Iterable[Recorded], count: int) -> tuple[Recorded, ...]:
    """Return the last `count` events."""
    return tuple(deque(history, maxlen=count))


def story_of(history: Iterable[Recorded], wanted: str) -> tuple[Recorded, ...]:
    """Return the events about one application, node or master.

    An application may be called by its name too; then it is the story of all that had the name.

    Raises:
        NotFound: The history has nothing about it.
    """
    events = tuple(history)
    named = [
        recorded.event.app_id
        for recorded in events
        if isinstance(recorded.event, AppSubmitted) and recorded.event.spec.name == wanted
    ]
    for ids in ([wanted], named):
        about = {recorded.position: recorded for one in ids for recorded in story(events, one)}
        if about:
            return tuple(recorded for _, recorded in sorted(about.items()))
    known = dict.fromkeys(one for recorded in events for one in subjects(recorded))
    some = ", ".join(list(known)[:SUBJECTS_SHOWN])
    raise NotFound(
        "is in no event of this history",
        field="subject",
        value=wanted,
        hint=f"it tells of {some}" if some else "it is empty",
    )
