"""How fresh an answer is, and whether this master accepts anything now.

A master that cannot reach etcd, or holds (`dorm.master.holding`), still answers questions from the
state that it has folded, marked as stale. It refuses every write, at once where it can.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from dorm.api.view import View
from events.catalog import Event
from events.codec import to_plain
from events.errors import Regressed, Unavailable

STALE_HEADER: Final = "Dorm-Stale"
HOLD_HEADER: Final = "Dorm-Hold"
WRITE_S: Final = 3.0
"""How long a user waits for a write. etcd's own deadline, and a turn behind other writes, took 19 s
without quorum."""


class NotNow(Unavailable):
    """A write that this master does not take on now.

    Attributes:
        written: `no`: nothing was written. `unknown`: it may be, now or later.
        hint: The way out.
    """

    def __init__(self, reason: str, *, written: str, hint: str) -> None:
        """Keep what the user is told."""
        self.written, self.hint = written, hint
        super().__init__(reason)


def staleness(view: View) -> dict[str, Any]:
    """Return what every answer carries: whether it is stale, how old it is, why this master holds.

    `age_s` is null before etcd has answered for the first time.
    """
    age_s = view.silence_s()
    return {
        "stale": not view.healthy() or bool(view.hold()),
        "age_s": None if age_s is None else round(age_s, 1),
        "hold": view.hold(),
    }


def marked(view: View, response: Response) -> Response:
    """Return the response with the same in its headers, for those who do not read bodies."""
    fresh = staleness(view)
    if fresh["stale"]:
        age_s = fresh["age_s"]
        response.headers[STALE_HEADER] = "unknown" if age_s is None else f"{age_s:g}"
    if fresh["hold"]:
        response.headers[HOLD_HEADER] = ascii(fresh["hold"])[1:-1]
    return response


def page(view: View, content: Mapping[str, object], *, status_code: int = 200) -> Response:
    """Return a JSON answer that tells how fresh it is."""
    body = {**to_plain(content), "freshness": staleness(view)}
    return marked(view, JSONResponse(body, status_code=status_code))


@asynccontextmanager
async def writing(view: View, events: Sequence[Event]) -> AsyncIterator[None]:
    """Run a write within its time.

    Raises:
        NotNow: This master does not write now, or does not know whether it did.
    """
    if view.hold():
        raise NotNow(
            f"this master holds: {view.hold()}",
            written="no",
            hint="an operator looks at dorm status, then begins an epoch: dorm admin new-epoch",
        )
    if not view.healthy():
        silence_s = view.silence_s()
        for_s = "" if silence_s is None else f" for {silence_s:.0f} s"
        raise NotNow(
            f"this master has not heard from etcd{for_s}; without a quorum nothing is written",
            written="no",
            hint="try again; see dorm status and dorm doctor",
        )
    try:
        view.check(events)
    except Unavailable as error:
        raise NotNow(str(error), written="no", hint="finish the upgrade of the masters") from error
    async with in_time():
        yield


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """Run what writes, whatever this master thinks of the store, within the time for a write.

    Raises:
        NotNow: It is unknown whether it wrote.
    """
    try:
        async with asyncio.timeout(WRITE_S):
            yield
    except TimeoutError as error:
        raise _unknown(f"the cluster's log has not answered within {WRITE_S:g} s") from error
    except Regressed as error:
        raise _unknown(f"the store was restored meanwhile: {error}") from error
    except NotNow:
        raise
    except Unavailable as error:
        raise _unknown(f"the cluster's log does not answer: {error}") from error


def _unknown(reason: str) -> NotNow:
    return NotNow(
        reason,
        written="unknown",
        hint="whether it was written is unknown; try again: under the same idempotency key "
        "nothing happens twice",
    )
