"""The list of masters that nodes ask for their word when etcd does not answer.

A node counts on every master that it knows of. So one that it does not know may not come to lead:
it would give nothing on the words of the others. A new master therefore enters the list, and
campaigns only when every node has read it, or can no longer count on masters alone.

It lists who may ever lead, so nothing in it expires. Who lives now is another question, see
`dorm.master.company`.
"""

from collections.abc import Mapping
from typing import Final

import structlog

from dorm.backoff import Backoff
from dorm.keys import Keys
from dorm.ports import Clock, Compare, Etcd, KeyValue, Put, Randomness
from dorm.status import NodeStatus
from dorm.tenure import DRIFT, FAILSAFE_S_MAX, MasterEntry, TenureRecord
from events.codec import from_json, to_json
from events.errors import Corrupt, Unavailable

_log = structlog.get_logger()

LOOK_S: Final = 0.5


class Registry:
    """One master's entry."""

    def __init__(
        self, etcd: Etcd, keys: Keys, *, name: str, url: str, clock: Clock, randomness: Randomness
    ) -> None:
        """Take who enters, and where it answers."""
        self._etcd, self._keys, self._name, self._url = etcd, keys, name, url
        self._clock, self._randomness = clock, randomness

    async def enter(self) -> None:
        """Wait until this master may campaign."""
        backoff = Backoff(self._clock, self._randomness)
        entered_at: float | None = None
        while True:  # Ends when all nodes know it, or the longest time is over that they may not.
            try:
                entries, revision = await self._read()
                mine = entries.get(self._name)
                if mine is None or mine.url != self._url:
                    # Whoever still asks the old address gets no word there, which is no harm.
                    known = mine is not None and mine.known
                    await self._write(entries, revision, known=known)
                    continue
                if mine.known:
                    return
                now = self._clock.monotonic()
                entered_at = now if entered_at is None else entered_at
                over = now - entered_at > FAILSAFE_S_MAX * (1 + DRIFT)
                unaware = () if over else await self._unaware(revision)
                if not unaware:
                    await self._write(entries, revision, known=True)
                    continue
                _log.info("registry.waits", master=self._name, nodes=list(unaware))
                backoff.reset()
                await self._clock.sleep(LOOK_S)
            except Unavailable as error:
                _log.warning("registry.retried", error=str(error))
                await backoff.wait()

    async def _read(self) -> tuple[Mapping[str, MasterEntry], int]:
        found = await self._etcd.get(self._keys.masters)
        if found is None:
            return {}, 0
        return from_json(found.value, dict[str, MasterEntry]), found.mod_revision

    async def _write(
        self, entries: Mapping[str, MasterEntry], revision: int, *, known: bool
    ) -> None:
        new = {**entries, self._name: MasterEntry(url=self._url, known=known)}
        await self._etcd.txn(
            [Compare(self._keys.masters, "mod", revision)], [Put(self._keys.masters, to_json(new))]
        )

    async def _unaware(self, revision: int) -> tuple[str, ...]:
        """Return the nodes that may count on masters, and have not read the present list."""
        tenures = await self._etcd.range(self._keys.tenures)
        if not tenures.items:
            return ()
        statuses = await self._etcd.range(self._keys.statuses)
        aware = {
            item.key.removeprefix(self._keys.statuses)
            for item in statuses.items
            if _masters_revision(item) >= revision
        }
        rights = {item.key.removeprefix(self._keys.tenures): item for item in tenures.items}
        return tuple(
            node_id
            for node_id, item in sorted(rights.items())
            if node_id not in aware and not from_json(item.value, TenureRecord).closed
        )


def _masters_revision(item: KeyValue) -> int:
    try:
        return from_json(item.value, NodeStatus).masters_revision
    except Corrupt:  # Of another version, so of nobody who counts on this list.
        return 0
