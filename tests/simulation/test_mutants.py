"""Protections switched off, one at a time: each must be missed. It proves that the checker bites.

A mutant is a broken port: the code of Dorm stays as it is, and its guard never reaches etcd.
"""

from collections.abc import AsyncIterator, Sequence

import attrs
import pytest

from dorm.keys import Keys
from dorm.ports import ContainerSeen
from dorm.ports.etcd import Compare, Operation, TxnResult, WatchEvent
from tests.simulation.cluster import CLUSTER, Parts
from tests.simulation.docker import Engine, SimDocker
from tests.simulation.etcd import SimEtcdClient
from tests.simulation.process import Process
from tests.simulation.simulation import run_seed

SEEDS_MAX = 60
KEYS = Keys(CLUSTER)


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
        kept = [compare for compare in compares if not compare.key.startswith(self.prefixes)]
        return await super().txn(kept, success, failure)


class NoFence(_Unguarded):
    """A leader's writes do not compare the leader key; only taking office does."""

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        kept = [one for one in compares if one.key != KEYS.leader or one.value == 0]
        return await SimEtcdClient.txn(self, kept, success, failure)


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


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        pytest.param(Parts(etcd=NoFence), " leads", id="no fence"),
        pytest.param(Parts(etcd=NoCursor), "written twice", id="no cursor"),
        pytest.param(Parts(etcd=NoOnceKey), "I1", id="no idempotency key"),
        pytest.param(Parts(etcd=NoSegmentGuard), "I7", id="no segment guard"),
        pytest.param(Parts(etcd=NoDocumentGuard), "I5", id="no document guard"),
        pytest.param(Parts(etcd=LossyWatch), "I6", id="lossy watch"),
        pytest.param(Parts(docker=BlindDocker), "I2", id="no adoption"),
        pytest.param(Parts(docker=EarlyDocker), "I2", id="early exit"),
    ],
)
def test_a_protection_that_is_switched_off_is_missed(parts: Parts, sentence: str) -> None:
    """A simulation that passes without a protection does not test it."""
    for seed in range(SEEDS_MAX):
        result = run_seed(seed, parts=parts)
        if any(sentence in violation for violation in result.violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds, and nothing was noticed")
