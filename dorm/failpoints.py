"""Fail points: named places between two effects, where a test lets a process fail.

A crash can only do harm between one effect and the next, so that is where the points stand, and
each is crashed at in tests (`tests/simulation/test_crash_points.py`, `tests/crashes`). Nothing is
armed in production: a point costs a look into a context variable then.

`DORM_FAILPOINT=agent.exit.remembered:kill@2` arms a real process at its start: the second time it
comes by, it is killed. Several are separated by commas. The simulation gives each of its processes
a handler of its own (`install`).
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final

import attrs
import structlog

from events.errors import Rejected, Unavailable
from events.text import brief

_log = structlog.get_logger()

VARIABLE: Final = "DORM_FAILPOINT"
EXIT_CODE: Final = 70  # no program of Dorm ends with it otherwise
SLEEP_S_MAX: Final = 3_600.0

POINTS: Final[Mapping[str, str]] = {
    # The agent
    "agent.memory.unwritten": "a change of the memory is worked out, not on disk",
    "agent.memory.written": "it is on disk, and nothing rests on it yet",
    "agent.orders.taken": "a document is believed, and no action was taken on it",
    "agent.register.granted": "there is a lease, and no node key under it",
    "agent.register.written": "the node key is written, and the agent does not know",
    "agent.tenure.cleared": "nothing of the old tenure is left, the new one is not remembered",
    "agent.tenure.begun": "a new tenure is remembered, and not registered",
    "agent.right.written": "a beat is in etcd, and the permit is not extended",
    "agent.right.extended": "the permit is extended, and the agent does not count on it",
    "agent.create.prepared": "the files of a container are there, the container is not",
    "agent.create.created": "the container is there, and was never started",
    "agent.start.remembered": "a start is remembered, and was not ordered",
    "agent.start.started": "the container runs, and nobody was told",
    "agent.started.remembered": "a start is seen and remembered, and was not sent",
    "agent.signal.sent": "a stop signal is sent, and not remembered",
    "agent.kill.remembered": "a kill is remembered, and was not sent",
    "agent.kill.sent": "a kill is sent, and its end not seen",
    "agent.exit.unremembered": "an end is seen, and not remembered",
    "agent.exit.remembered": "an end is remembered, and was not sent",
    "agent.remove.log_saved": "the output is saved, and not noted as kept",
    "agent.remove.log_noted": "it is noted as kept, and the container is still there",
    "agent.remove.removed": "the container is removed, its run directory is not",
    "agent.outbox.unsent": "reports are in hand, and were not sent",
    "agent.outbox.sent": "the log has them, and that is not noted",
    "agent.outbox.starts_noted": "starts are noted as sent, ends of the same batch are not",
    "files.write.unpublished": "the new content lies beside the old one",
    # The log, in every process that writes it
    "log.append.unwritten": "a batch is composed, and was not sent",
    "log.append.written": "the batch is in the log, and the cursor in hand is the old one",
    # The master
    "master.tenure.ended": "a tenure is ended in etcd, and that is no event",
    "master.tenure.closed": "a tenure is closed in etcd, and the pass not at its end",
    "master.snapshot.loaded": "a snapshot is in hand, and the log behind it unread",
    "leader.campaign.granted": "there is a lease, and no leader key under it",
    "leader.campaign.won": "the leader key is written, and the winner does not know",
    "leader.campaign.entered": "the winner knows, and its election is not in the log",
    "leader.resign.deleted": "the leader key is gone, its lease is not",
    "term.election.unwritten": "the log is read, and the election not written",
    "term.election.written": "the election is written, and not read again",
    "term.batch.appended": "one append of a decision is in the log, its next one is not",
    "term.facts.appended": "facts are in the log, and the documents are of before",
    "publisher.batch.written": "some documents are written, and the rest is not",
    "upkeep.segment.opened": "a segment is closed, and not sealed",
    "upkeep.segment.sealed": "a segment is sealed, and the next pass not begun",
    "snapshot.chunk.written": "a chunk of a snapshot is written, the pointer to it is not",
    "snapshot.latest.written": "the pointer is written, and the chunks before are still there",
    "api.submit.written": "a submit is in the log, and its user has no answer",
    "api.change.written": "another wish of a user is in the log, and has no answer",
    "planner.request.read": "the planner has a question, and has not begun",
    "planner.answer.unwritten": "the planner has an answer, and has not given it",
}
"""Every point, and what has been done there and what has not."""

Handler = Callable[[str], None]
"""Called with the name of a point that is passed; what it raises is raised there."""

_handler: ContextVar[Handler | None] = ContextVar("failpoints", default=None)


def point(name: str) -> None:
    """Pass a point."""
    handler = _handler.get()
    if handler is not None:
        handler(name)


def install(handler: Handler) -> None:
    """Call `handler` at each point from here on, in this context and in tasks made from it."""
    _handler.set(handler)


def arm(text: str) -> None:
    """Let this process fail as `text` says, the value of `DORM_FAILPOINT`; empty for never.

    Raises:
        Rejected: There is no such point, or nothing such can be done there.
    """
    if not text:
        return
    plans = tuple(parse(part.strip()) for part in text.split(","))
    passed: Counter[str] = Counter()

    def on_pass(name: str) -> None:
        passed[name] += 1
        for plan in plans:
            if plan.name == name and plan.nth in (None, passed[name]):
                _log.warning("failpoint.reached", point=name, action=plan.action)
                _ACTIONS[plan.action](plan)

    _log.warning("failpoint.armed", points=[plan.name for plan in plans], variable=VARIABLE)
    install(on_pass)


@attrs.frozen(kw_only=True)
class Plan:
    """What is to happen at one point.

    Attributes:
        nth: Only at this pass, counted from 1; None for every one.
    """

    name: str
    action: str
    seconds: float = 0.0
    nth: int | None = None


def parse(text: str) -> Plan:
    """Return the plan that `NAME:ACTION`, `NAME:sleep=SECONDS` or either with `@N` says.

    Raises:
        Rejected: It says none.
    """
    name, _, rest = text.partition(":")
    action, at, nth = rest.partition("@")
    action, equals, seconds = action.partition("=")
    if name not in POINTS:
        raise _refused(text, "names no fail point", f"there are {', '.join(POINTS)}")
    if action not in _ACTIONS or bool(equals) != (action == "sleep"):
        raise _refused(text, "names no action", f"write {name}:kill, or one of {_WAYS}")
    if at and not (nth.isascii() and nth.isdigit() and 1 <= len(nth) <= 9 and int(nth) >= 1):  # noqa: PLR2004 - digits of a number that a counter reaches
        raise _refused(text, "counts passes with no number", f"write {name}:{action}@1")
    return Plan(
        name=name,
        action=action,
        seconds=_seconds(text, seconds) if equals else 0.0,
        nth=int(nth) if at else None,
    )


def _seconds(text: str, seconds: str) -> float:
    try:
        value = float(seconds)
    except ValueError:
        value = -1.0
    if not 0 <= value <= SLEEP_S_MAX:  # Not a number is refused here too.
        raise _refused(text, f"must sleep 0 to {SLEEP_S_MAX:g} seconds", "such as sleep=2.5")
    return value


def _refused(text: str, rule: str, hint: str) -> Rejected:
    return Rejected(rule, field=VARIABLE, value=brief(text), hint=hint)


def _error(plan: Plan) -> None:
    raise Unavailable(f"fail point {plan.name} says that it is so")


_ACTIONS: Final[Mapping[str, Callable[[Plan], None]]] = {
    "exit": lambda _: os._exit(EXIT_CODE),
    "kill": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "stop": lambda _: os.kill(os.getpid(), signal.SIGSTOP),
    "sleep": lambda plan: time.sleep(plan.seconds),
    "error": _error,
}
_WAYS: Final = "exit, kill, stop, sleep=SECONDS and error, with @N for the N-th pass only"
