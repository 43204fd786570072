"""The log under everything at once: nothing may be lost, doubled or out of order.

Eight producers append and one tailer follows, on three members, of which the leading one is killed
and frozen in turn, while the log rolls over and etcd compacts each second.

    python -m tests.etcd.chaos --seconds 60
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import attrs

from dorm.clock import SystemClock, SystemRandomness
from dorm.etcd import EtcdClient, connect
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster, EtcdProcess
from dorm.log.etcd_log import EtcdLog
from dorm.log.leadership import Leadership
from dorm.log.tailer import Tailer
from dorm.logs import set_up
from events.errors import Fenced, Unavailable
from events.recorded import Recorded
from tests.builders import BY_TEST, node_lost
from tests.contracts.log_contract import read_all
from tests.etcd_servers import find_binary

PRODUCERS = 8
FAULT_EVERY_S = 5.0
FAULT_LASTS_S = 2.5
UPKEEP_EVERY_S = 1.0
PAUSE_S = 0.004  # between a producer's appends, so that a minute's history stays small
CATCH_UP_S = 30.0


@attrs.define
class Outcome:
    """What happened, and what was found of it.

    Attributes:
        acked: What each producer was told is written, in its order.
        stored: The log, as read at the end.
        followed: The log, as the tailer delivered it.
        append_s: How long each append took, its failures included.
        unknown: Appends that ended in `Unavailable` and were settled.
    """

    acked: list[list[str]] = attrs.field(factory=list)
    stored: list[Recorded] = attrs.field(factory=list)
    followed: list[Recorded] = attrs.field(factory=list)
    append_s: list[float] = attrs.field(factory=list)
    unknown: int = 0
    kills: int = 0
    freezes: int = 0
    roll_overs: int = 0
    compactions: int = 0
    terms: int = 0

    @property
    def acked_count(self) -> int:
        """How many events the producers were told are written."""
        return sum(map(len, self.acked))

    @property
    def lost(self) -> int:
        """How many of those are not in the log."""
        return len({name for names in self.acked for name in names} - set(_names(self.stored)))

    @property
    def doubled(self) -> int:
        """How many are in it more than once."""
        return sum(count - 1 for count in Counter(_names(self.stored)).values())

    @property
    def in_order(self) -> bool:
        """Whether each producer's events stand in the order in which it wrote them."""
        names = _names(self.stored)
        return all(
            acked == [name for name in names if name.startswith(f"p{number}-")]
            for number, acked in enumerate(self.acked)
        )

    @property
    def followed_exactly(self) -> bool:
        """Whether the tailer delivered the log, the whole log, and nothing but the log."""
        return self.followed == self.stored

    def table(self) -> str:
        """Return the figures for people."""
        times = sorted(self.append_s)
        rows = {
            "events acknowledged": self.acked_count,
            "events stored": len(self.stored),
            "lost": self.lost,
            "stored twice": self.doubled,
            "order of each producer kept": self.in_order,
            "tailer delivered": len(self.followed),
            "tailer equals the log": self.followed_exactly,
            "members killed / frozen": f"{self.kills} / {self.freezes}",
            "roll-overs / compactions": f"{self.roll_overs} / {self.compactions}",
            "terms of leadership": self.terms,
            "unknown outcomes settled": self.unknown,
            "append p50 ms": round(times[len(times) // 2] * 1e3, 1),
            "append p99 ms": round(times[int(len(times) * 0.99)] * 1e3, 1),
            "appends over 1 s": sum(one > 1 for one in times),
            "longest append s": round(times[-1], 2),
        }
        return "\n".join(f"{name:<30}{value!s:>12}" for name, value in rows.items())


class Chaos:
    """One run."""

    def __init__(self, cluster: EtcdCluster, keys: Keys) -> None:
        self.outcome = Outcome(acked=[[] for _ in range(PRODUCERS)])
        self._cluster, self._keys = cluster, keys
        self._over = asyncio.Event()

    async def run(self, seconds: float) -> Outcome:
        """Let everything happen at once for so long, then look at what is there."""
        following = asyncio.create_task(self._follow())
        writing = [asyncio.create_task(self._produce(number)) for number in range(PRODUCERS)]
        upkeep = asyncio.create_task(self._upkeep())
        await self._disturb(seconds)
        self._over.set()
        await asyncio.gather(*writing, upkeep)
        async with self._connected() as etcd:
            self.outcome.stored = await read_all(self._log(etcd, "reader"))
        await self._caught_up()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        return self.outcome

    def _connected(self) -> "_Connection":
        return _Connection(self._cluster.endpoints)

    def _log(self, etcd: EtcdClient, name: str) -> EtcdLog:
        return EtcdLog(etcd, self._keys, producer=name)

    async def _produce(self, number: int) -> None:
        """Append one event after the other, each until its outcome is known."""
        async with self._connected() as etcd:
            log = self._log(etcd, f"p{number}")
            acked = self.outcome.acked[number]
            while not self._over.is_set():
                name = f"p{number}-{len(acked)}"
                started = time.monotonic()
                await self._append(log, name)
                self.outcome.append_s.append(time.monotonic() - started)
                acked.append(name)
                await asyncio.sleep(PAUSE_S)

    async def _append(self, log: EtcdLog, name: str) -> None:
        try:
            await log.append((node_lost(name),), stamp=BY_TEST)
        except Unavailable:
            self.outcome.unknown += 1
        else:
            return
        while True:  # Ends when etcd is back.
            with suppress(Unavailable):
                assert await log.settle() is not None, "nothing but its leader can refuse an append"
                return

    async def _follow(self) -> None:
        async with self._connected() as etcd:
            tailer = Tailer(
                etcd,
                self._keys,
                log=self._log(etcd, "tailer"),
                clock=SystemClock(),
                randomness=SystemRandomness(),
            )
            async for batch in tailer.batches():
                self.outcome.followed += batch

    async def _caught_up(self) -> None:
        """Give the tailer time to deliver the rest, and more than it should."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_S):
                while len(self.outcome.followed) < len(self.outcome.stored):  # noqa: ASYNC110 - a poll is enough at the end of a run
                    await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)

    async def _upkeep(self) -> None:
        """Lead: roll over and compact up to the newest revision, each second."""
        async with self._connected() as etcd:
            leadership = Leadership(
                etcd,
                self._keys,
                name="m1",
                ttl_s=5.0,
                clock=SystemClock(),
                randomness=SystemRandomness(),
            )
            log = self._log(etcd, "m1")
            while not self._over.is_set():
                epoch = await leadership.campaign()
                self.outcome.terms += 1
                keeping = asyncio.create_task(leadership.keep())
                with suppress(Fenced):
                    await self._upkeep_while_leading(etcd, log, epoch)
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
                await leadership.resign()

    async def _upkeep_while_leading(self, etcd: EtcdClient, log: EtcdLog, epoch: int) -> None:
        while not self._over.is_set():
            with suppress(Unavailable):
                segment = await log.segments.current()
                await log.segments.roll_over(segment, fence=epoch)
                self.outcome.roll_overs += 1
                await etcd.compact(segment.revision)
                self.outcome.compactions += 1
            await asyncio.sleep(UPKEEP_EVERY_S)

    async def _disturb(self, seconds: float) -> None:
        """Kill and freeze the leading member in turn."""
        ends_at = time.monotonic() + seconds
        while time.monotonic() + FAULT_LASTS_S < ends_at:
            await asyncio.sleep(FAULT_EVERY_S - FAULT_LASTS_S)
            leader = await self._leading_member()
            if leader is None:
                continue
            if self.outcome.kills <= self.outcome.freezes:
                self.outcome.kills += 1
                leader.kill()
                await asyncio.sleep(FAULT_LASTS_S)
                leader.restart()
            else:
                self.outcome.freezes += 1
                leader.freeze()
                await asyncio.sleep(FAULT_LASTS_S)
                leader.thaw()

    async def _leading_member(self) -> EtcdProcess | None:
        async with self._connected() as etcd:
            found = await etcd.status()
        leading = {status.endpoint for status in found if status.leader_id == status.member_id}
        return next((one for one in self._cluster.members if one.endpoint in leading), None)


class _Connection:
    """A client for as long as a block lasts."""

    def __init__(self, endpoints: Sequence[str]) -> None:
        self._etcd = connect(endpoints)

    async def __aenter__(self) -> EtcdClient:
        return self._etcd

    async def __aexit__(self, *_: object) -> None:
        await self._etcd.close()


def _names(history: Sequence[Recorded]) -> list[str]:
    return [recorded.event.node_id for recorded in history]  # type: ignore[union-attr]


def main() -> int:
    """Run, print the table, and tell by the exit code whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    seconds = parser.parse_args().seconds
    set_up(json=False, level="error")
    with tempfile.TemporaryDirectory(prefix="dorm-chaos-") as folder:
        cluster = EtcdCluster.start(find_binary(), data_dir=Path(folder), size=3)
        try:
            outcome = asyncio.run(_run(cluster, seconds))
        finally:
            cluster.stop()
    sys.stdout.write(outcome.table() + "\n")
    well = not outcome.lost and not outcome.doubled and outcome.in_order
    return 0 if well and outcome.followed_exactly else 1


async def _run(cluster: EtcdCluster, seconds: float) -> Outcome:
    return await Chaos(cluster, Keys("chaos")).run(seconds)


if __name__ == "__main__":
    sys.exit(main())
