"""A small world for one master's parts: virtual time, and an etcd in memory that never fails."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import attrs

from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.ports import Put
from tests.simulation.etcd import NetworkFaults, SimEtcdClient
from tests.simulation.etcd_store import EtcdStore
from tests.simulation.loop import virtual_loop
from tests.simulation.process import Process, SimClock, SimRandomness

T = TypeVar("T")


@attrs.frozen
class World:
    """The ports of one process."""

    store: EtcdStore
    process: Process
    keys: Keys
    etcd: SimEtcdClient
    clock: SimClock
    randomness: SimRandomness

    def log(self, producer: str = "m1.lead.x") -> EtcdLog:
        """Return a log with its own producer."""
        return EtcdLog(self.etcd, self.keys, producer=producer)

    def take_office(self, master: str = "m1") -> int:
        """Put a leader key straight into the store; return its epoch."""
        return self.write(self.keys.leader, master.encode())

    def write(self, key: str, value: bytes) -> int:
        """Write a key as if by somebody else; return the revision."""
        return self.store.txn((), (Put(key, value),), ()).revision


def in_world(test: Callable[[World], Awaitable[T]]) -> T:
    """Run one test in a new world."""
    with virtual_loop() as loop:

        async def run() -> T:
            process, store = Process("m1", seed=1), EtcdStore()
            return await test(
                World(
                    store=store,
                    process=process,
                    keys=Keys("test"),
                    etcd=SimEtcdClient(store, process, NetworkFaults()),
                    clock=SimClock(process),
                    randomness=SimRandomness(process),
                )
            )

        return loop.run_until_complete(run())
