"""The log alone on a bad network: nothing lost, nothing twice, one order for everyone."""

import asyncio
from random import Random

import pytest
import structlog

from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.log.leadership import LeaderRecord
from dorm.log.tailer import Tailer
from dorm.ports.etcd import Put
from events.apps import AppCancelRequested
from events.codec import to_json
from events.errors import Unavailable
from events.recorded import Recorded, Stamp
from tests.simulation.checker import Checker
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.process import Process, SimClock, SimRandomness

KEYS = Keys("sim")
STORM = NetworkFaults(
    lost_request=0.05, lost_reply=0.05, late_commit=0.5, slow=0.05, broken_watch=0.1
)
APPENDS = 25
OFFICE = to_json(LeaderRecord(master="m0", address="", token=""))
STAMP = Stamp(at_ms=0, actor="user/ann")


class _World:
    """Producers and tailers on one store."""

    def __init__(self, seed: int) -> None:
        self.store, self.network, self.seed = EtcdStore(), NetworkFaults(), seed
        self.checker = Checker(KEYS, self.store, {}, asyncio.get_running_loop().time)
        self.acked: list[tuple[int, str]] = []
        self.epoch = self.store.txn([], [Put(KEYS.leader, OFFICE)], []).revision

    def client(self, name: str) -> tuple[Process, SimEtcdClient, EtcdLog]:
        """Return a process with its own connection and log."""
        process = Process(name, self.seed)
        etcd = SimEtcdClient(self.store, process, self.network)
        return process, etcd, EtcdLog(etcd, KEYS, producer=name)

    async def produce(self, name: str) -> None:
        """Append events, each until it is certain."""
        process, _, log = self.client(name)
        for number in range(APPENDS):
            event = AppCancelRequested(app_id=f"{name}-{number}")
            tried = False
            while True:
                try:
                    revision = await log.settle() if tried else None
                    tried = True
                    revision = revision or await log.append((event,), stamp=STAMP)
                    self.acked.append((revision, event.app_id))
                    break
                except Unavailable:
                    await asyncio.sleep(process.random.uniform(0.1, 1))

    async def follow(self, name: str, into: list[Recorded]) -> None:
        """Follow the log for ever."""
        process, etcd, log = self.client(name)
        tailer = Tailer(
            etcd, KEYS, log=log, clock=SimClock(process), randomness=SimRandomness(process)
        )
        async for batch in tailer.batches():
            into.extend(batch)

    async def trouble(self) -> None:
        """Compact, roll over and lose quorum, again and again."""
        random, (_, _, log) = Random(self.seed), self.client("trouble")
        while True:
            await asyncio.sleep(random.uniform(0.2, 1))
            self.store.compact(self.store.revision)
            if random.random() < 0.3:
                self.store.set_quorum(quorum=False)
                await asyncio.sleep(random.uniform(1, 15))
                self.store.set_quorum(quorum=True)
            try:
                await log.segments.roll_over(await log.segments.current(), fence=self.epoch)
            except Unavailable:
                continue


@pytest.mark.parametrize("seed", range(25))
async def test_whatever_the_network_does_every_append_is_read_once_and_in_order(
    seed: int,
) -> None:
    """Everything else rests on this: the log is the only truth there is."""
    world = _World(seed)
    tails: list[list[Recorded]] = [[], []]
    world.network.become(STORM)
    background = [
        asyncio.create_task(world.trouble()),
        *(asyncio.create_task(world.follow(f"t{i}", tail)) for i, tail in enumerate(tails)),
    ]
    with structlog.testing.capture_logs():
        await asyncio.gather(*(world.produce(f"p{index}") for index in range(4)))
        background[0].cancel()
        world.store.set_quorum(quorum=True)
        world.network.become(NetworkFaults())
        await asyncio.sleep(60)

    assert world.checker.violations == []
    stored = world.checker.recorded
    assert sorted(world.acked) == [(one.revision, one.event.app_id) for one in stored]  # type: ignore[union-attr]
    for tail in tails:
        assert [one.event_id for one in tail] == [one.event_id for one in stored]
    for task in background:
        assert not task.done() or task.cancelled()
        task.cancel()
