"""Parts of a cluster with one protection switched off each.

A mutant is a broken port, or a small subclass of the part whose rule it leaves out. The rest of
Dorm stays as it is.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import attrs

from dorm.agent.memory import Remembered
from dorm.keys import Keys
from dorm.ports import ContainerSeen
from dorm.ports.etcd import (
    Compare,
    KeyValue,
    MemberStatus,
    Operation,
    Put,
    RangeResult,
    TxnResult,
    WatchEvent,
)
from dorm.tenure import DRIFT, FREEZE_S_MAX, MARGIN_S, TenureRecord
from events.codec import from_json, to_json
from reconcilers.documents import NodeDocument
from tests.simulation.cluster import CLUSTER
from tests.simulation.docker import Engine, SimDocker
from tests.simulation.etcd import SimEtcdClient
from tests.simulation.files import SimFiles
from tests.simulation.process import Process

KEYS: Final = Keys(CLUSTER)
FENCE_S_WITHOUT_WAIT: Final = -MARGIN_S / (1 + DRIFT) - FREEZE_S_MAX
LATE_END_S: Final = 6.0

# Guards of transactions


class _Unguarded(SimEtcdClient):
    """Guards whose key begins with one of `prefixes` are left out."""

    prefixes: tuple[str, ...] = ()

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        kept = [one for one in compares if not self.is_left_out(one, success)]
        return await super().txn(kept, success, failure)

    def is_left_out(self, compare: Compare, success: Sequence[Operation]) -> bool:
        """Return whether a guard of this transaction never reaches etcd."""
        del success
        return compare.key.startswith(self.prefixes)


class NoFence(_Unguarded):
    """A leader's writes do not compare the leader key; only taking office does."""

    def is_left_out(self, compare: Compare, success: Sequence[Operation]) -> bool:
        """Return whether a guard of this transaction never reaches etcd."""
        del success
        return compare.key == KEYS.leader and compare.value != 0


class NoCursor(_Unguarded):
    """A retried batch compares neither its producer's cursor nor its own keys."""

    prefixes = KEYS.producer(""), KEYS.events


class NoOnceKey(_Unguarded):
    """A retried submit does not compare its idempotency key."""

    prefixes = (KEYS.submit(""),)


class NoSegmentGuard(_Unguarded):
    """An append does not compare the current segment, so it may land in a closed one."""

    prefixes = (KEYS.segment_now,)


class NoDocumentGuard(_Unguarded):
    """A late write of a document does not compare the one that is there."""

    prefixes = (KEYS.desireds,)


class _Beats(_Unguarded):
    """A beat leaves out the guards of `prefixes`; nothing else does."""

    def is_left_out(self, compare: Compare, success: Sequence[Operation]) -> bool:
        """Return whether a guard of this transaction never reaches etcd."""
        beats = any(isinstance(one, Put) and one.key.startswith(KEYS.statuses) for one in success)
        return beats and compare.key.startswith(self.prefixes)


class NoTenureInBeats(_Beats):
    """A beat does not compare the tenure."""

    prefixes = (KEYS.tenures,)


class NoNodeInBeats(_Beats):
    """A beat does not compare the node key."""

    prefixes = (KEYS.nodes,)


class NothingInBeats(_Beats):
    """A beat compares neither."""

    prefixes = KEYS.tenures, KEYS.nodes


class EndsOfPresent(_Unguarded):
    """A leader ends the tenure of a node although that is back."""

    def is_left_out(self, compare: Compare, success: Sequence[Operation]) -> bool:
        """Return whether a guard of this transaction never reaches etcd."""
        ends = any(isinstance(one, Put) and one.key.startswith(KEYS.tenures) for one in success)
        return ends and compare.key.startswith(KEYS.nodes) and compare.target == "create"


# What is read from etcd


class LossyWatch(SimEtcdClient):
    """Every tenth batch of a watch is lost, and nobody is told."""

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return self._lossy(prefix, start_revision)

    async def _lossy(
        self, prefix: str, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        async for batch in super().watch(prefix, start_revision=start_revision):
            yield () if self._process.random.random() < 0.1 else batch


class _Misread(SimEtcdClient):
    """Some values of a range are read as others."""

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, keys_only: bool = False
    ) -> RangeResult:
        """See `Etcd`."""
        found = await super().range(prefix, start=start, limit=limit, keys_only=keys_only)
        items = tuple(self.misread(prefix, item) for item in found.items)
        return attrs.evolve(found, items=items)

    def misread(self, prefix: str, item: KeyValue) -> KeyValue:
        """Return the item as it is read below `prefix`."""
        raise NotImplementedError


class NoWait(_Misread):
    """A leader waits for nothing between the end of a tenure and its verdict."""

    def misread(self, prefix: str, item: KeyValue) -> KeyValue:
        """Return the item as it is read below `prefix`."""
        if prefix != KEYS.tenures:
            return item
        record = from_json(item.value, TenureRecord)
        short = attrs.evolve(record, fence_s=FENCE_S_WITHOUT_WAIT)
        return attrs.evolve(item, value=to_json(short))


class OnePhase(_Misread):
    """A leader takes the tenure of a silent node for ended, and never ends it."""

    def misread(self, prefix: str, item: KeyValue) -> KeyValue:
        """Return the item as it is read below `prefix`."""
        if prefix != KEYS.tenures:
            return item
        record = attrs.evolve(from_json(item.value, TenureRecord), ended=True)
        return attrs.evolve(item, value=to_json(record))


class AnyTenuresDocument(_Misread):
    """An agent takes a document for one of its own tenure, whatever it says."""

    def misread(self, prefix: str, item: KeyValue) -> KeyValue:
        """Return the item as it is read below `prefix`."""
        if prefix == KEYS.desireds or not item.key.startswith(KEYS.desireds):
            return item
        node_id = item.key.removeprefix(KEYS.desireds)
        right = self._store.get(KEYS.tenure(node_id))
        if right is None:
            return item
        tenure = from_json(right.value, TenureRecord).tenure
        document = attrs.evolve(from_json(item.value, NodeDocument), tenure=tenure)
        return attrs.evolve(item, value=to_json(document))


class MuteEtcd(SimEtcdClient):
    """An agent takes every member that does not answer for one without a leader."""

    async def status(self) -> tuple[MemberStatus, ...]:
        """See `Etcd`."""
        await super().status()
        return tuple(
            attrs.evolve(self._store.status(one), leader_id=0) for one in self._way.members.all
        )


# The engine, the disk, the warden


class BlindDocker(SimDocker):
    """A new agent does not see the containers of the one before it."""

    def __init__(self, engine: Engine, process: Process) -> None:
        """Remember what was there before."""
        super().__init__(engine, process)
        self._before = set(engine.containers)

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """See `Docker`."""
        return tuple(one for one in await super().containers() if one.name not in self._before)


class EarlyDocker(SimDocker):
    """A container counts as ended as soon as it was asked to end."""

    def __init__(self, engine: Engine, process: Process) -> None:
        """Nothing was asked to end yet."""
        super().__init__(engine, process)
        self._asked: set[str] = set()

    async def signal(self, name: str, signal: str) -> None:
        """See `Docker`."""
        self._asked.add(name)
        await super().signal(name, signal)

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """See `Docker`."""
        return tuple(
            attrs.evolve(one, state="exited") if one.name in self._asked else one
            for one in await super().containers()
        )


class ForgetfulFiles(SimFiles):
    """A new agent has forgotten which containers are closed for ever."""

    async def read(self, path: str) -> bytes | None:
        """See `Files`."""
        raw = await super().read(path)
        if raw is None or not path.endswith("/memory.json"):
            return raw
        return to_json(attrs.evolve(from_json(raw, Remembered), containers={}))


# Rules of masters and agents


class NoGuardInBeats(NothingInBeats):
    """A beat is bound to nothing at all: neither to the keys nor to the lease."""

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        free = tuple(
            attrs.evolve(one, lease=0)
            if isinstance(one, Put) and one.key.startswith(KEYS.statuses)
            else one
            for one in success
        )
        return await super().txn(compares, free, failure)


class LateEnds(SimEtcdClient):
    """No mutant: the end of a tenure takes long to reach etcd."""

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        if any(_ends(one) for one in success):
            await asyncio.sleep(LATE_END_S)
        return await super().txn(compares, success, failure)


class LateEndsOfPresent(LateEnds, EndsOfPresent):
    """Then the node is back, and its tenure is ended all the same."""


def _ends(operation: Operation) -> bool:
    """Return whether it ends a tenure, and does not close one."""
    if not isinstance(operation, Put) or not operation.key.startswith(KEYS.tenures):
        return False
    record = from_json(operation.value, TenureRecord)
    return record.ended and not record.closed
