"""Look at the store with the eyes of one that has seen it before; see `reconcilers.history`.

A read may be stale: etcd before 3.4.42 and 3.5.28 can answer a linearizable read from the past
after its process was paused. So a regress is only believed when a write confirms it: the alarm
itself, which goes through raft, tells where the store really stands.
"""

from collections.abc import Callable

import attrs
import structlog

from dorm.keys import Keys
from dorm.ports import Clock, Compare, Delete, Etcd, Get, KeyValue, Put
from dorm.store import Alarm, StoreMark
from events.codec import from_json, to_json
from events.errors import Unavailable
from reconcilers.history import Position

_log = structlog.get_logger()

Proof = Callable[[], tuple[str, int] | None]
"""Returns a key that is surely there in the known history, and its mod revision; None without."""


@attrs.frozen(kw_only=True)
class Look:
    """What stands in the store at one revision.

    Attributes:
        mark_revision: Mod revision of the mark; 0 without one.
        gets: The other keys that were asked for.
    """

    found: Position
    mark_revision: int
    gets: tuple[KeyValue | None, ...]


async def look(etcd: Etcd, keys: Keys, *others: str) -> Look:
    """Return where the store stands, and other keys at that same revision.

    Raises:
        Unavailable: etcd did not answer.
        Corrupt: The mark is unreadable, such as written by a newer Dorm.
    """
    result = await etcd.txn((), (Get(keys.store), *(Get(key) for key in others)))
    item, *gets = result.gets
    mark = None if item is None else from_json(item.value, StoreMark)
    found = Position(
        epoch=mark.epoch if mark else 0,
        store_id=mark.store_id if mark else "",
        revision=result.revision,
    )
    mark_revision = item.mod_revision if item else 0
    return Look(found=found, mark_revision=mark_revision, gets=tuple(gets))


class Accuser:
    """Writes the alarm of one witness."""

    def __init__(self, etcd: Etcd, keys: Keys, clock: Clock, *, witness: str, proof: Proof) -> None:
        self._etcd, self._keys, self._clock = etcd, keys, clock
        self._witness, self._proof = witness, proof
        self._key = keys.alarm(witness)

    async def accuse(self, known: Position, seen: Look, reason: str, *, sure: bool = False) -> bool:
        """Write the alarm; returns whether it stands: False when the look was stale, not the store.

        It is guarded by the mark that was seen: an alarm that is late must not land in an epoch
        that began meanwhile.

        Args:
            known: How far this witness had seen.
            seen: What it found.
            reason: In words.
            sure: It was confirmed before, so the alarm only has to be there.

        Raises:
            Unavailable: Not known yet; hold meanwhile, and try again.
        """
        found = seen.found
        alarm = self._alarm(known, found, reason)
        there = await self._etcd.get(self._key)
        if there is not None and _complains_of(there) == (found.epoch, found.store_id):
            return True
        guards = (
            Compare(self._key, "mod", there.mod_revision if there else 0),
            Compare(self._keys.store, "mod", seen.mark_revision),
        )
        written = await self._etcd.txn(guards, (Put(self._key, to_json(alarm)),))
        if not written.succeeded:
            raise Unavailable(f"{self._key} or the mark of the store moved meanwhile; look again")
        if not sure and await self._is_stale(known, written.revision):
            mine = Compare(self._key, "mod", written.revision)
            await self._etcd.txn((mine,), (Delete(self._key),))
            _log.warning("store.read_was_stale", found=found.revision, known=known.revision)
            return False
        return True

    def _alarm(self, known: Position, found: Position, reason: str) -> Alarm:
        return Alarm(
            witness=self._witness,
            known_epoch=known.epoch,
            known_id=known.store_id,
            known_revision=known.revision,
            found_epoch=found.epoch,
            found_id=found.store_id,
            found_revision=found.revision,
            reason=reason,
            at_ms=self._clock.now_ms(),
        )

    async def _is_stale(self, known: Position, written_at: int) -> bool:
        """Return whether the look was of the past of the known history, not of another one.

        A restored store may have caught up meanwhile, so a high revision alone proves nothing.
        """
        proof = self._proof()
        if written_at <= known.revision or proof is None:
            return False
        key, mod_revision = proof
        now = await look(self._etcd, self._keys, key)
        (item,) = now.gets
        same_store = (now.found.epoch, now.found.store_id) == (known.epoch, known.store_id)
        return same_store and item is not None and item.mod_revision == mod_revision


def _complains_of(there: KeyValue) -> tuple[int, str]:
    """Return which epoch of the store an alarm is about."""
    alarm = from_json(there.value, Alarm)
    return alarm.found_epoch, alarm.found_id
