"""Appends per second through the log, next to bare transactions of the same shape.

    python -m tests.bench.append

Both run in turn against one etcd, with the same number of callers, for a few rounds; what counts is
the ratio inside one run. "Bare" sends ready-made requests on the same channel: three compares, two
puts, three gets when refused, and the same bytes per event.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from dorm.etcd import EtcdClient, connect
from dorm.etcd.channels import METADATA, TRY_S
from dorm.etcd.requests import txn
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from dorm.ports.etcd import Compare, Get, Put
from events.codec import encode
from events.recorded import Recorded
from tests.builders import BY_TEST, container_started
from tests.etcd_servers import find_binary

Write = Callable[[int], Awaitable[None]]
"""Makes a caller's n-th write."""

EVENT = container_started("some-app", rank=3, node_id="some-node")


async def bench(cluster: EtcdCluster, *, producers: int, rounds: int, seconds: float) -> str:
    """Return the table."""
    etcd, keys = connect(cluster.endpoints), Keys("bench")
    rates: dict[str, list[float]] = {"bare": [], "log": []}
    for number in range(rounds):
        names = [f"r{number}-p{producer}" for producer in range(producers)]
        segment = await EtcdLog(etcd, keys, producer="bench").segments.current()
        bare = [_bare(etcd, keys, name, segment.guard) for name in names]
        log = [_appending(EtcdLog(etcd, keys, producer=name)) for name in names]
        runs = [("bare", bare), ("log", log)]
        for kind, writes in runs if number % 2 else reversed(runs):
            rates[kind].append(await _rate(writes, seconds))
    await etcd.close()
    return _table(rates)


def _appending(log: EtcdLog) -> Write:
    async def write(_: int) -> None:
        await log.append((EVENT,), stamp=BY_TEST)

    return write


def _bare(etcd: EtcdClient, keys: Keys, name: str, guard: int) -> Write:
    raw = encode(Recorded(event_id=f"{name}-0000000001-000", stamp=BY_TEST, event=EVENT))
    send = etcd._channels.stubs[0].kv.Txn
    cursor, value = f"{keys.root}/bare/{name}", b"0" * 64

    async def write(n: int) -> None:
        key = f"{keys.root}/bare-ev/{name}-{n:010d}"
        guards = Compare(keys.segment_now, "mod", guard), Compare(cursor, "version", n)
        request = txn(
            (*guards, Compare(key, "create", 0)),
            (Put(key, raw), Put(cursor, value)),
            (Get(cursor), Get(keys.leader), Get(keys.segment_now)),
        )
        answer = await send(request, timeout=TRY_S, metadata=METADATA)
        assert answer.succeeded

    return write


async def _rate(writes: list[Write], seconds: float) -> float:
    """Return how many writes a second all callers make together."""
    ends_at = time.monotonic() + seconds

    async def call(write: Write) -> int:
        count = 0
        while time.monotonic() < ends_at:
            await write(count)
            count += 1
        return count

    started = time.monotonic()
    counts = await asyncio.gather(*(call(write) for write in writes))
    return sum(counts) / (time.monotonic() - started)


def _table(rates: dict[str, list[float]]) -> str:
    ratios = [log / bare for log, bare in zip(rates["log"], rates["bare"], strict=True)]
    lines = [f"{'round':<8}{'bare txn/s':>12}{'appends/s':>12}{'ratio':>8}"]
    for number, ratio in enumerate(ratios):
        bare, log = rates["bare"][number], rates["log"][number]
        lines.append(f"{number + 1:<8}{bare:>12.0f}{log:>12.0f}{ratio:>8.2f}")
    bare, log = (statistics.median(rates[name]) for name in ("bare", "log"))
    lines.append(f"{'median':<8}{bare:>12.0f}{log:>12.0f}{statistics.median(ratios):>8.2f}")
    return "\n".join(lines)


def main() -> None:
    """Start an etcd of its own, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--producers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--members", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dorm-bench-") as folder:
        cluster = EtcdCluster.start(find_binary(), data_dir=Path(folder), size=chosen.members)
        try:
            table = asyncio.run(
                bench(
                    cluster,
                    producers=chosen.producers,
                    rounds=chosen.rounds,
                    seconds=chosen.seconds,
                )
            )
        finally:
            cluster.stop()
    sys.stdout.write(table + "\n")


if __name__ == "__main__":
    main()
