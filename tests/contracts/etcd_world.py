"""A log on an `Etcd`, with two writers and a leader's office."""

import attrs

from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.ports.etcd import Delete, Etcd, Put


@attrs.frozen
class EtcdWorld:
    """See `tests.contracts.log_contract.LogWorld`."""

    etcd: Etcd
    keys: Keys
    log: EtcdLog
    other: EtcdLog

    @classmethod
    def on(cls, etcd: Etcd, keys: Keys) -> "EtcdWorld":
        """Two writers on one etcd."""
        log, other = (EtcdLog(etcd, keys, producer=name) for name in ("m1-x", "m2-y"))
        return cls(etcd, keys, log, other)

    async def elect(self) -> int:
        """See `LogWorld`."""
        await self.etcd.txn((), (Delete(self.keys.leader),))
        return (await self.etcd.txn((), (Put(self.keys.leader, b"somebody"),))).revision
