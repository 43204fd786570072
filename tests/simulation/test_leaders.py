"""Directed scenarios about masters: killed, paused, robbed of their lease, slow of reading."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import ClassVar

from dorm.ports.etcd import Compare, Operation, Put, TxnResult, WatchEvent
from events.catalog import KIND_OF
from events.layouts import LayoutDecided
from tests.simulation.cluster import Cluster, Parts
from tests.simulation.etcd import SimEtcdClient
from tests.simulation.process import Process
from tests.simulation.script import all_running, an_errand, kill_leader, leaders, sound, until
from tests.simulation.simulation import run_script


def test_a_leader_killed_in_the_middle_of_a_resize_is_replaced_and_the_resize_goes_on() -> None:
    """The log is all there is, so the next leader finds the resize where it stands."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand("a", most=12),))
        await all_running(cluster)
        cluster.start_user("bob", (an_errand("b", after_s=0.1),))
        await until(
            cluster, lambda: any(a.phase == "resizing" for a in cluster.checker.state.apps.values())
        )
        first = kill_leader(cluster)
        await until(cluster, lambda: cluster.leader not in {None, first})
        await all_running(cluster)
        assert len(set(leaders(cluster))) == 2

    sound(run_script(1, script))


class _PausedAtTheDecision(SimEtcdClient):
    """Its process is stopped between its decision about a layout and the write of it, once."""

    paused: ClassVar[list[Process]] = []

    async def txn(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TxnResult:
        """See `Etcd`."""
        events = (put for put in success if isinstance(put, Put) and "/ev/" in put.key)
        writes = b"".join(put.value for put in events)
        if not self.paused and KIND_OF[LayoutDecided].encode() in writes:
            self.paused.append(self._process)
            self._process.pause()
        return await super().txn(compares, success, failure)


def test_a_paused_leader_wakes_up_and_its_stale_write_changes_nothing() -> None:
    """A lease proves nothing to the paused; the compare in the write itself does."""
    _PausedAtTheDecision.paused.clear()

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(),))
        await until(cluster, lambda: bool(_PausedAtTheDecision.paused))
        old, (process,) = cluster.leader, _PausedAtTheDecision.paused
        await asyncio.sleep(20)
        assert cluster.leader not in {None, old}
        refused = cluster.store.refused[cluster.keys.leader]
        process.resume()
        await asyncio.sleep(5)
        assert cluster.store.refused[cluster.keys.leader] > refused
        assert leaders(cluster)[-1] != old

    sound(run_script(1, script, parts=Parts(etcd=_PausedAtTheDecision)))


def test_an_idle_leader_whose_lease_is_gone_lets_go_of_its_office_and_campaigns_again() -> None:
    """A master that may not act, and thinks that it is in office, would do neither for ever."""

    async def script(cluster: Cluster) -> None:
        await until(cluster, lambda: len(cluster.checker.state.nodes) == 3)
        for process, _ in cluster.masters.values():
            await asyncio.sleep(5)
            office = cluster.store.get(cluster.keys.leader)
            assert office is not None
            cluster.store.revoke(office.lease)
            await until(cluster, lambda: cluster.leader is not None)
            assert process.alive
        cluster.start_user("ann", (an_errand(),))

    sound(run_script(1, script))


class _SlowWatch(SimEtcdClient):
    """Its watches tell everything seven seconds late."""

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return self._late(prefix, start_revision)

    async def _late(
        self, prefix: str, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        async for batch in super().watch(prefix, start_revision=start_revision):
            if batch:
                await asyncio.sleep(7)
            yield batch


def test_a_leader_that_reads_late_decides_nothing_twice() -> None:
    """Until it has read its own last write, its state would want the same again."""

    async def script(cluster: Cluster) -> None:
        cluster.start_user("ann", (an_errand(steps=600),))
        await until(cluster, lambda: bool(cluster.checker.running))
        decided = [e for e in cluster.checker.recorded if isinstance(e.event, LayoutDecided)]
        assert len(decided) == 1

    sound(run_script(1, script, parts=Parts(etcd=_SlowWatch)))
