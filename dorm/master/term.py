"""One term of leadership: carry out the reconcilers until nothing is left to do."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import structlog

from dorm.failpoints import point
from dorm.master.follower import Follower
from dorm.master.planning import Planning
from dorm.master.presence import Presence
from dorm.master.publisher import Publisher
from dorm.master.waits import Waits
from dorm.ports import Clock
from events.catalog import KIND_OF, Event
from events.codec import to_json
from events.control import LeaderElected
from events.errors import Unavailable
from events.log import EVENTS_PER_APPEND_MAX, EventLog
from events.recorded import Stamp
from events.state import ClusterState
from reconcilers import lifecycle, membership, review, rollout
from reconcilers.membership import Observed

_log = structlog.get_logger()

BYTES_PER_APPEND_MAX: Final = 1 << 20  # etcd refuses a request above 1.5 MiB by default
PASSES_MAX: Final = 100  # far more than any chain of facts needs; past it, give other work a turn


class Term:
    """The leader's work under one epoch. A new term starts from nothing but the log."""

    def __init__(  # noqa: PLR0913 - the ports and parts of one master
        self,
        *,
        name: str,
        epoch: int,
        log: EventLog,
        follower: Follower,
        presence: Presence,
        planning: Planning,
        publisher: Publisher,
        clock: Clock,
        in_office: Callable[[], bool],
        check: Callable[[Sequence[Event]], None],
    ) -> None:
        self.epoch = epoch
        self._name, self._event_log = name, log
        self._follower, self._presence, self._publisher = follower, presence, publisher
        self._planning = planning
        self._clock, self._in_office, self._check = clock, in_office, check
        self._waits = Waits(clock)
        self._written = 0
        self._announced = False

    async def begin(self) -> None:
        """Record the election, and read the log up to it: from here on the state is complete."""
        await self._settle()
        if not self._announced:
            election = LeaderElected(master=self._name, epoch=self.epoch)
            point("term.election.unwritten")
            await self._write((election,), "election")
            point("term.election.written")
            self._announced = True  # From here on only reading is left, however long it takes.
            await self._follower.wait_for(self._written)

    async def reconcile(self, cause: str) -> None:
        """Append facts until every reconciler is satisfied, then publish the documents.

        A layout may be worked out meanwhile; it is appended by a later pass.
        A pass may be run twice or end in the middle; the next one starts from the log again.

        Raises:
            Fenced: Another master leads.
            Unavailable: etcd did not answer; what was being written is settled by the next pass.
        """
        await self._settle()
        for _ in range(PASSES_MAX):
            if not self._in_office():
                msg = "this master's lease ran out by its own clock"
                raise Unavailable(msg)
            facts = await self._next_facts(self._follower.state)
            if not facts:
                break
            await self._append(facts, cause)
            self._planning.appended(facts)
            point("term.facts.appended")
        written = await self._publisher.publish(self._follower.state)
        if written:
            _log.info("documents.published", nodes=list(written), cause=cause)

    @property
    def due_in_s(self) -> float | None:
        """Return when to reconcile again by the clock alone; None when there is no need."""
        waits = (self._planning.due_in_s, self._presence.due_in_s)
        return min((wait for wait in waits if wait is not None), default=None)

    async def end(self) -> None:
        """Leave off what is under way; for the end of the term."""
        await self._planning.stop()

    async def append_own(self, facts: Sequence[Event], cause: str) -> None:
        """Append facts that the leader found by itself, such as a segment's seal."""
        await self._append(facts, cause)

    async def _next_facts(self, state: ClusterState) -> tuple[Event, ...]:
        """Return what the first reconciler with something to do wants, from one state."""
        return (
            membership.plan(state, await self._look(state))
            or lifecycle.plan(state, self._waits.waited_ms(state))
            or review.plan(state, self._waits.since_look_ms(state))
            or self._planning.facts(state)
            or rollout.plan(state)
        )

    async def _look(self, state: ClusterState) -> Observed:
        """Return what is seen of the nodes, after ending and closing what is to be."""
        observed = await self._presence.look(state)
        expelled = membership.expulsions(state, observed)
        for node_id in expelled:
            await self._presence.end_tenure(node_id)
        for node_id in membership.closings(state, observed):
            await self._presence.close_tenure(node_id)
        return await self._presence.look(state) if expelled else observed

    async def _append(self, facts: Sequence[Event], cause: str) -> None:
        for some in _batches(facts):
            await self._write(some, cause)
            await self._follower.wait_for(self._written)
            point("term.batch.appended")

    async def _write(self, facts: Sequence[Event], cause: str) -> None:
        self._check(facts)
        stamp = Stamp(at_ms=self._clock.now_ms(), actor=f"master/{self._name}", cause=cause)
        self._written = await self._event_log.append(facts, stamp=stamp, fence=self.epoch)
        kinds = [KIND_OF[type(fact)] for fact in facts]
        _log.info("pass.changed", revision=self._written, facts=kinds, cause=cause)

    async def _settle(self) -> None:
        """Find out what became of a write without an answer, and read up to the own last write.

        A state without it would want the same again. The wait may fail again and again: a write
        that was settled stays to be waited for.
        """
        self._written = max(self._written, await self._event_log.settle() or 0)
        await self._follower.wait_for(self._written)


def _batches(facts: Sequence[Event]) -> Iterator[tuple[Event, ...]]:
    """Cut facts into appends that one transaction can hold."""
    batch: list[Event] = []
    size = 0
    for fact in facts:
        fact_bytes = len(to_json(fact))
        full = len(batch) == EVENTS_PER_APPEND_MAX or size + fact_bytes > BYTES_PER_APPEND_MAX
        if batch and full:
            yield tuple(batch)
            batch, size = [], 0
        batch.append(fact)
        size += fact_bytes
    if batch:
        yield tuple(batch)
