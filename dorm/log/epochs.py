"""The mark of the store, and the step from one epoch of it to the next."""

from typing import Final

import structlog

from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.witness import Look, look
from dorm.ports import Compare, Delete, Etcd, Put
from dorm.store import Alarm, StoreMark
from events.codec import from_json, to_json
from events.control import StoreEpochBegan
from events.errors import Conflict
from events.recorded import Stamp
from reconcilers.history import Position

_log = structlog.get_logger()

ALARMS_MAX: Final = 100  # in one transaction; etcd takes 128 operations, and others are void anyway


async def ensure_mark(etcd: Etcd, keys: Keys, *, store_id: str, stamp: Stamp) -> Look:
    """Make the mark of the first epoch in a store that has none; return where the store stands.

    Raises:
        Unavailable: etcd did not answer; try again.
    """
    seen = await look(etcd, keys)
    if seen.mark_revision:
        return seen
    mark = StoreMark(
        epoch=1,
        store_id=store_id,
        since_revision=seen.found.revision,
        at_ms=stamp.at_ms,
        by=stamp.actor,
    )
    await etcd.txn((Compare(keys.store, "create", 0),), (Put(keys.store, to_json(mark)),))
    return await look(etcd, keys)


async def alarms(etcd: Etcd, keys: Keys, found: Position) -> tuple[Alarm, ...]:
    """Return the alarms about this epoch of the store, by witness.

    Raises:
        Unavailable: etcd did not answer.
    """
    stored = await etcd.range(keys.alarms)
    every = (from_json(item.value, Alarm) for item in stored.items)
    return tuple(one for one in every if _is_about(one, found))


async def clear_void_alarms(etcd: Etcd, keys: Keys, seen: Look) -> None:
    """Delete alarms about other epochs than the one that was seen: they were raised as it began.

    Raises:
        Unavailable: etcd did not answer.
    """
    for item in (await etcd.range(keys.alarms)).items:
        if not _is_about(from_json(item.value, Alarm), seen.found):
            guards = (
                Compare(keys.store, "mod", seen.mark_revision),
                Compare(item.key, "mod", item.mod_revision),
            )
            await etcd.txn(guards, (Delete(item.key),))


async def begin_epoch(  # noqa: PLR0913 - who asks, what is known, and the store
    etcd: Etcd,
    log: EtcdLog,
    keys: Keys,
    *,
    after: int,
    known: Position,
    store_id: str,
    stamp: Stamp,
) -> StoreMark:
    """Begin the epoch that follows, because an operator vouches for the store; return its mark.

    Mark, event and the end of the alarms are one transaction. Asking again after an answer that was
    lost changes nothing.

    Args:
        etcd: The store.
        log: With a producer's name that was never used.
        keys: Of the cluster.
        after: The epoch that the operator has seen.
        known: How far the master that is asked had seen.
        store_id: Never used before.
        stamp: Who and when.

    Raises:
        Conflict: The store is in an epoch that the operator has not seen.
        Unavailable: The outcome is unknown; try again.
    """
    seen = await ensure_mark(etcd, keys, store_id=store_id, stamp=stamp)
    if seen.found.epoch != after:
        raise Conflict(
            f"is not the epoch of the store: that is {seen.found.epoch}",
            field="after",
            value=str(after),
            hint="see dorm status: another operator, or an earlier try, may have begun it already",
        )
    raised = await alarms(etcd, keys, seen.found)
    epochs = (seen.found.epoch, known.epoch, *(alarm.known_epoch for alarm in raised))
    revisions = (known.revision, *(alarm.known_revision for alarm in raised))
    mark = StoreMark(
        epoch=max(epochs) + 1,
        store_id=store_id,
        since_revision=seen.found.revision,
        at_ms=stamp.at_ms,
        by=stamp.actor,
    )
    event = StoreEpochBegan(
        epoch=mark.epoch,
        store_id=mark.store_id,
        found_revision=seen.found.revision,
        lost_revision=max(revisions),
        witnesses=tuple(alarm.witness for alarm in raised),
    )
    log.enter(seen.found.epoch, seen.mark_revision)  # Refused if the mark moves meanwhile.
    ends = [Delete(keys.alarm(alarm.witness)) for alarm in raised[:ALARMS_MAX]]
    await log.append((event,), stamp=stamp, beside=(Put(keys.store, to_json(mark)), *ends))
    _log.warning("store.epoch_began", epoch=mark.epoch, by=mark.by)
    return mark


def _is_about(alarm: Alarm, store: Position) -> bool:
    return (alarm.found_epoch, alarm.found_id) == (store.epoch, store.store_id)
