"""Snapshots: the folded state in etcd, so that a master need not fold the whole history.

A snapshot is a memo, never the truth: whatever is wrong with one, the log still has everything.
The state goes in chunks below the size that etcd takes in one request; the pointer to them is
written last, so it never names an incomplete snapshot.
"""

import zlib
from functools import cache
from typing import Final

import attrs
import msgspec
import structlog

from dorm.failpoints import point
from dorm.keys import Keys
from dorm.log.fence import check_fence, fence_compares
from dorm.ports.etcd import Compare, Delete, Etcd, Get, Put
from events.codec import digest, from_json, to_json
from events.errors import Corrupt, Unavailable
from events.snapshot import dump, restore
from events.state import ClusterState

_log = structlog.get_logger()

CHUNK_BYTES: Final = 512 * 1024  # etcd's default is 1.5 MiB a request (server/embed/config.go)
DELETES_PER_WRITE: Final = 50
TRIES_MAX: Final = 3  # a snapshot may be replaced while it is read


@attrs.frozen(kw_only=True)
class Pointer:
    """The value of `snap/latest`.

    Attributes:
        sha256: Of the joined chunks.
        schema: Hash of the shape of the state. Another shape would decode with defaults in the
            place of what the fold has to compute.
    """

    revision: int
    chunk_count: int
    sha256: str
    schema: str


NOTHING: Final = Pointer(revision=0, chunk_count=0, sha256="", schema="")


async def save(etcd: Etcd, keys: Keys, state: ClusterState, *, fence: int) -> None:
    """Store `state` as the latest snapshot and drop the older ones.

    Raises:
        Fenced: Another master leads.
        Unavailable: Try again later; the snapshot before is still whole.
    """
    latest = await _pointer(etcd, keys)
    if latest.revision >= state.revision and latest.schema == _schema():
        return
    packed = zlib.compress(dump(state))
    chunks = [packed[at : at + CHUNK_BYTES] for at in range(0, len(packed), CHUNK_BYTES)]
    for number, chunk in enumerate(chunks):
        await _put(etcd, keys, keys.snapshot_chunk(state.revision, number), chunk, fence=fence)
        point("snapshot.chunk.written")
    pointer = Pointer(
        revision=state.revision, chunk_count=len(chunks), sha256=digest(packed), schema=_schema()
    )
    await _put(etcd, keys, keys.snapshot_latest, to_json(pointer), fence=fence)
    point("snapshot.latest.written")
    await _drop_others(etcd, keys, state.revision, fence=fence)


async def load(etcd: Etcd, keys: Keys) -> ClusterState | None:
    """Return the latest snapshot; None when there is none that this version can read.

    Raises:
        Unavailable: etcd did not answer.
    """
    for _ in range(TRIES_MAX):
        pointer = await _pointer(etcd, keys)
        if pointer == NOTHING:
            return None
        try:
            return _unpack(await _chunks(etcd, keys, pointer), pointer)
        except Corrupt as error:
            _log.warning("snapshot.ignored", revision=pointer.revision, reason=str(error))
            if (await _pointer(etcd, keys)) == pointer:
                return None
    return None


async def _chunks(etcd: Etcd, keys: Keys, pointer: Pointer) -> bytes:
    """Return the joined chunks; too few when the snapshot is being replaced."""
    names = [keys.snapshot_chunk(pointer.revision, n) for n in range(pointer.chunk_count)]
    chunks = [await etcd.get(name) for name in names]
    return b"".join(chunk.value for chunk in chunks if chunk)


def _unpack(packed: bytes, pointer: Pointer) -> ClusterState:
    if pointer.schema != _schema():
        raise Corrupt("it was written by a Dorm whose state has another shape")
    if digest(packed) != pointer.sha256:
        raise Corrupt("its sha256 differs from the one that was written with it")
    state = restore(zlib.decompress(packed))
    if state.revision != pointer.revision:
        raise Corrupt(f"it holds the state at revision {state.revision}")
    return state


@cache
def _schema() -> str:
    """Return the hash of the shape of a state. A field more or less makes it another."""
    return digest(to_json(msgspec.json.schema(ClusterState)))


async def _pointer(etcd: Etcd, keys: Keys) -> Pointer:
    """Return the pointer to the latest snapshot; one to nothing if there is none."""
    item = await etcd.get(keys.snapshot_latest)
    if item is None:
        return NOTHING
    try:
        return from_json(item.value, Pointer)
    except Corrupt as error:
        _log.warning("snapshot.ignored", reason=str(error))
        return NOTHING


async def _put(etcd: Etcd, keys: Keys, key: str, value: bytes, *, fence: int) -> None:
    """Write a key as the leader, over whatever a try or a leader before left there."""
    there = await etcd.get(key)
    if there is not None and there.value == value:
        return
    guard = Compare(key, "mod", there.mod_revision if there else 0)
    result = await etcd.txn(
        (*fence_compares(keys, fence), guard),
        (Put(key, value),),
        (Get(keys.leader), Get(key)),
    )
    if result.succeeded:
        return
    leader, now = result.gets
    check_fence(leader, fence)
    if now is None or now.value != value:  # else an earlier try of this write took place
        raise Unavailable(f"{key} moved: an earlier write of this leader landed late")


async def _drop_others(etcd: Etcd, keys: Keys, revision: int, *, fence: int) -> None:
    """Delete the chunks of every other snapshot, in small transactions."""
    prefix = keys.snapshot_latest.removesuffix("latest")
    mine = keys.snapshot_chunk(revision, 0).removesuffix("0000")
    found = await etcd.range(prefix, keys_only=True)
    others = [
        item.key
        for item in found.items
        if item.key != keys.snapshot_latest and not item.key.startswith(mine)
    ]
    for at in range(0, len(others), DELETES_PER_WRITE):
        result = await etcd.txn(
            fence_compares(keys, fence),
            [Delete(key) for key in others[at : at + DELETES_PER_WRITE]],
            (Get(keys.leader),),
        )
        if not result.succeeded:
            check_fence(result.gets[0], fence)
