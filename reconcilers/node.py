"""What an agent does next with the containers of its node.

The rules, each of them there because of a failure that the simulation or an experiment showed:

- Only an explicit stop order stops a container of the document. Absence from a document means
  something only when the document is at least as new as the one the container was created from:
  then its exit is in the log already, or the machine was given up, and what is left is an orphan.
- What was made under another tenure of the node ends at once: masters gave it up, and something
  else may run in its place by now.
- A container is created and started only while nothing says that it ever ran. Once a start was
  ordered, a container that is not there is `lost`, never created anew.
- An exit is durably reported, which closes the key for ever, before anything of it is removed.
- Names come again when the store is restored from a backup. A container of another origin under a
  wanted name is an orphan, and in the way: it is never adopted, and gone before its name is used.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from reconcilers.documents import NodeDocument, StopOrder, WantedContainer, same_origin
from reconcilers.exits import (
    Key,
    Refusal,
    ReportExited,
    SeenContainer,
    exit_of,
    lost,
    refusal_of,
    start_error,
)

ORPHAN: Final = StopOrder(signal="SIGTERM", grace_ms=10_000, reason="orphan")
INIT_MS: Final = 1_000
"""A first process that has just begun has no handlers yet, and the kernel keeps from it every
signal that it does not handle: a stop signal sent at once after the start is lost, and its whole
grace time with it (seen with Docker's own init, on a container with a tenth of a cpu)."""
KILL_AGAIN_MS: Final = 5_000  # an engine that dies in the middle of a kill forgets it


@attrs.frozen(kw_only=True)
class Observed:
    """What an agent sees, and what it remembers.

    Attributes:
        containers: All containers of this cluster and node, running or not.
        tenure: Under which the node runs containers; what was made under another one is over.
        signalled_ms: For how long each container has known its stop signal.
        killed_ms: For how long each container has known SIGKILL.
        launched_ms: For how long each container has been started, or on its way. Outlives the
            agent.
        started: Containers whose start is reported.
        exited: Containers whose exit is reported, which closes them for ever. Outlives the agent.
        refused: What the engine will never make or start.
        busy: Containers that something is being done with, so what is seen of them may be old.
    """

    containers: tuple[SeenContainer, ...]
    tenure: str = ""
    signalled_ms: Mapping[Key, int] = attrs.field(factory=dict)
    killed_ms: Mapping[Key, int] = attrs.field(factory=dict)
    launched_ms: Mapping[Key, int] = attrs.field(factory=dict)
    started: frozenset[Key] = frozenset()
    exited: frozenset[Key] = frozenset()
    refused: Mapping[Key, Refusal] = attrs.field(factory=dict)
    busy: frozenset[Key] = frozenset()


@attrs.frozen(kw_only=True)
class Create:
    """Make the container, without starting it. `revision` and `epoch` are the document's."""

    wanted: WantedContainer
    revision: int
    epoch: int = 1

    @property
    def key(self) -> Key:
        """Return the container's key."""
        return self.wanted.key


@attrs.frozen(kw_only=True)
class Start:
    """Start a created container, after remembering for ever that this was ordered."""

    key: Key
    name: str


@attrs.frozen(kw_only=True)
class Signal:
    """Ask the container to end."""

    key: Key
    name: str
    signal: str
    origin: str = ""


@attrs.frozen(kw_only=True)
class Kill:
    """End the container: its grace time is over, or it must not run."""

    key: Key
    name: str
    origin: str = ""


@attrs.frozen(kw_only=True)
class ReportStarted:
    """Report that the container runs."""

    key: Key


@attrs.frozen(kw_only=True)
class SaveLogsAndRemove:
    """Remove a container that does not run, and keep its output."""

    key: Key
    name: str


Action = Create | Start | Signal | Kill | ReportStarted | ReportExited | SaveLogsAndRemove


def plan(document: NodeDocument | None, observed: Observed) -> tuple[Action, ...]:
    """Return what to do now, at most one thing for each container, in order of the document.

    Without a document nothing is known, so nothing is done.
    """
    if document is None:
        return ()
    seen = {one.key: one for one in observed.containers if one.tenure == observed.tenure}
    strays = {one.key for one in observed.containers if one.tenure != observed.tenure}
    actions = (
        *(
            _wanted(one, seen.get(one.key), document, observed)
            for one in document.containers
            if one.key not in strays and not _taken(one.origin, seen.get(one.key))
        ),
        *(_orphan(one, observed) for one in _orphans(document, observed)),
        *(_stray(one, observed) for one in observed.containers if one.tenure != observed.tenure),
    )
    return tuple(
        action for action in actions if action is not None and action.key not in observed.busy
    )


def leftovers(document: NodeDocument, observed: Observed) -> tuple[str, ...]:
    """Return the names of containers that the history of this document does not know."""
    return tuple(one.name for one in _orphans(document, observed))


def next_look_ms(document: NodeDocument | None, observed: Observed) -> int | None:
    """Return after how long time alone brings something to do, or None when it does not.

    That is when a grace time is over, or a container has become old enough to be signalled.
    """
    if document is None:
        return None
    orders = {one.key: one.stop for one in document.containers}
    orders |= {one.key: ORPHAN for one in _orphans(document, observed)}
    waits = [
        _wait_ms(one.key, order, observed)
        for one in observed.containers
        if one.state == "running" and (order := orders.get(one.key)) is not None
    ]
    return max(0, min(waits)) if waits else None


def _wait_ms(key: Key, order: StopOrder, observed: Observed) -> int:
    if key in observed.killed_ms:
        return KILL_AGAIN_MS - observed.killed_ms[key]
    if key in observed.signalled_ms:
        return order.grace_ms - observed.signalled_ms[key]
    return INIT_MS - observed.launched_ms.get(key, INIT_MS)


def _wanted(
    wanted: WantedContainer, seen: SeenContainer | None, document: NodeDocument, observed: Observed
) -> Action | None:
    key = wanted.key
    if key in observed.exited:
        # It leaves the document once the exit is in the log, and is cleared away then.
        return _kill(seen, observed) if seen and seen.state == "running" else None
    if seen is None:
        return _absent(wanted, document, observed)
    match seen.state:
        case "created":
            return _created(wanted, seen, document, observed)
        case "running":
            if not wanted.started and key not in observed.started:
                return ReportStarted(key=key)
            return _stop(seen, wanted.stop, observed) if wanted.stop else None
        case "exited":
            return exit_of(seen, signalled=observed.signalled_ms, killed=observed.killed_ms)


def _taken(origin: str, seen: SeenContainer | None) -> bool:
    """Return whether another container has the name: an orphan, or of a newer document."""
    return seen is not None and not same_origin(origin, seen.origin)


def _absent(wanted: WantedContainer, document: NodeDocument, observed: Observed) -> Action:
    key = wanted.key
    if key in observed.refused:
        return start_error(key, observed.refused[key])
    if wanted.started or key in observed.started or key in observed.launched_ms:
        return lost(key, "the container is not there any more")
    if wanted.stop is not None:
        return lost(key, "stopped before it was started")
    if wanted.epoch < document.epoch:
        return lost(key, "of before the restore of the store, and not there")
    return Create(wanted=wanted, revision=document.revision, epoch=document.epoch)


def _created(
    wanted: WantedContainer, seen: SeenContainer, document: NodeDocument, observed: Observed
) -> Action:
    refusal = refusal_of(seen) or observed.refused.get(wanted.key)
    if refusal:
        return start_error(wanted.key, refusal)
    if wanted.stop is not None or wanted.epoch < document.epoch:
        # Gone first, reported then: a start that is still on its way finds nothing to start.
        return SaveLogsAndRemove(key=wanted.key, name=seen.name)
    return Start(key=wanted.key, name=seen.name)


def _stop(seen: SeenContainer, order: StopOrder, observed: Observed) -> Action | None:
    signalled_ms = observed.signalled_ms.get(seen.key)
    if signalled_ms is None:
        if observed.launched_ms.get(seen.key, INIT_MS) < INIT_MS:
            return None
        return Signal(key=seen.key, name=seen.name, signal=order.signal, origin=seen.origin)
    return _kill(seen, observed) if signalled_ms >= order.grace_ms else None


def _kill(seen: SeenContainer, observed: Observed) -> Kill | None:
    killed_ms = observed.killed_ms.get(seen.key, KILL_AGAIN_MS)
    if killed_ms < KILL_AGAIN_MS:
        return None
    return Kill(key=seen.key, name=seen.name, origin=seen.origin)


def _orphans(document: NodeDocument, observed: Observed) -> Iterator[SeenContainer]:
    wanted = {container.key: container.origin for container in document.containers}
    for container in observed.containers:
        if container.tenure != observed.tenure:
            continue  # The warden's.
        origin = wanted.get(container.key)
        known = origin is not None and not _taken(origin, container)
        if not known and (container.epoch, container.revision) <= document.position:
            yield container


def _stray(seen: SeenContainer, observed: Observed) -> Action | None:
    """Clear away what is left of another tenure: the log counts it as gone long since."""
    if seen.state == "running":
        return _kill(seen, observed)
    return SaveLogsAndRemove(key=seen.key, name=seen.name)


def _orphan(seen: SeenContainer, observed: Observed) -> Action | None:
    if seen.state == "running":
        return _stop(seen, ORPHAN, observed)
    return SaveLogsAndRemove(key=seen.key, name=seen.name)
