"""Does the store still have the history that this agent has acted upon?

If not, it was restored from a backup, and its documents are about another past: obeyed, they would
stop containers that should run, and start what runs elsewhere. So the agent holds: nothing is
started, nothing is stopped, no report is sent. It raises an alarm, and goes on in the next epoch,
which an operator begins (`dorm admin new-epoch`).

A restored store that stands before what this agent remembers is found out at the next look, and no
document is obeyed but one that was read together with the mark and judged with it.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from dorm.agent.memory import Memory
from dorm.agent.world import World
from dorm.keys import Keys
from dorm.log.witness import Accuser, Look, Proof, look
from dorm.ports import KeyValue
from events.codec import from_json
from events.errors import Unavailable
from reconcilers.documents import NodeDocument
from reconcilers.history import Position, judge

_log = structlog.get_logger()

BEHIND_MAX: Final = 200
"""Revisions that the memory on disk may lag. It matters only for an agent that restarts in the
same seconds in which a backup of the same seconds is restored, and has done nothing in them: what
it does with containers is a write of the memory each time."""


class History:
    """What one agent makes of the store.

    Attributes:
        alarm: Why it holds; empty while it does not. It is set before anything is awaited.
        entered: Called when the agent goes on in another epoch.
        take: Called with each document that may be obeyed.
    """

    def __init__(
        self,
        world: World,
        memory: Memory,
        *,
        cluster: str,
        node_id: str,
        proof: Proof,
        look_s: float,
    ) -> None:
        """Take what was seen before; the store is looked at every `look_s` seconds."""
        self.alarm = memory.now.held
        self.entered: Callable[[], None] = lambda: None
        self.take: Callable[[NodeDocument], None] = lambda _: None
        self._world, self._memory, self._keys = world, memory, Keys(cluster)
        self._document = self._keys.desired(node_id)
        self._look_s = look_s
        self._backoff, self._turn = world.backoff(), asyncio.Lock()
        self._accuser = Accuser(
            world.etcd, self._keys, world.clock, witness=f"node/{node_id}", proof=proof
        )

    async def run(self) -> None:
        """Look at the store again and again, for ever: also while no document changes."""
        while True:
            try:
                await self.look()
                await self._memory.keep_up(behind_max=BEHIND_MAX)
                self._backoff.reset()
                await self._world.clock.sleep(self._look_s)
            except Unavailable as error:
                _log.warning("history.unknown", reason=str(error))
                await self._backoff.wait()

    async def look(self) -> int:
        """Judge the store, and take the node's document if it may be obeyed; returns the revision.

        Raises:
            Unavailable: etcd did not answer.
            Corrupt: What is stored is unreadable, such as written by a newer Dorm.
        """
        async with self._turn:  # Else a look of before a new epoch may be judged after it.
            known = self._memory.known
            seen = await look(self._world.etcd, self._keys, self._document)
            (item,) = seen.gets
            if await self._judge(known, seen) and (document := await self._obeyed(item)):
                self.take(document)
        return seen.found.revision

    async def _obeyed(self, item: KeyValue | None) -> NodeDocument | None:
        """Return the document, if it is of the epoch that is obeyed."""
        document = None if item is None else from_json(item.value, NodeDocument)
        if document is None or document.epoch != self.epoch:
            return None
        if document.epoch != self._memory.now.document_epoch:
            await self._memory.rebase(document)
            _log.warning("history.rebased", epoch=document.epoch, revision=document.revision)
            self.entered()
        return document

    @property
    def epoch(self) -> int:
        """Return the epoch whose documents are obeyed. A store without a mark is in its first."""
        return max(1, self._memory.now.store.epoch)

    @property
    def settled(self) -> bool:
        """Return whether what is remembered of containers is of this epoch, so can be reported."""
        return not self.alarm and self._memory.now.document_epoch == self.epoch

    async def suspect(self, reason: str) -> None:
        """Hold at once: a write has shown that the store is another one. The next look judges."""
        self.alarm = self.alarm or reason
        await self._memory.hold(self.alarm)

    async def _judge(self, known: Position, seen: Look) -> bool:
        """Returns whether what was read may be obeyed."""
        verdict = judge(known, seen.found)
        match verdict.kind:
            case "regressed":
                await self._hold(verdict.reason, seen)
                return False
            case "new" | "first":
                first = verdict.kind == "first"
                await self._memory.enter(seen.found, first=first)
                self._world.log.enter(seen.found.epoch, seen.mark_revision)
                self.alarm = ""
                _log.warning("history.entered", epoch=seen.found.epoch, first=first)
                self.entered()
            case "same" if self.alarm:
                await self._hold(self.alarm, seen)
                return False
            case "same":
                self._memory.saw(seen.found.revision)
                self._world.log.enter(seen.found.epoch, seen.mark_revision)
        return True

    async def _hold(self, reason: str, seen: Look) -> None:
        """Hold, and say so where everybody sees it."""
        sure = bool(self._memory.now.held)
        if not self.alarm:
            _log.error("history.regressed", reason=reason)
        self.alarm = self.alarm or reason
        known = self._memory.known
        if await self._accuser.accuse(known, seen, self.alarm, sure=sure):
            if not sure:
                await self._memory.hold(self.alarm)
        elif not sure:
            self.alarm = ""
