"""Members whose disk hangs for a moment, again and again: slow, and nothing else."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dorm.clock import SystemClock, SystemRandomness
from dorm.config import ClusterConfig, MasterConfig
from dorm.etcd import connect
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from dorm.master.master import Master
from dorm.planner.inline import InlinePlanner
from dorm.ports.etcd import Compare, Put
from events.apps import AppSubmitted
from events.errors import Unavailable
from events.layouts import LayoutDecided
from events.nodes import NodeLost
from events.recorded import Recorded
from tests.builders import BY_TEST, a_node, an_app

pytestmark = pytest.mark.etcd

KEYS = Keys("slow")
HANG_S = 1.2  # longer than one try of the client; a healthy disk takes milliseconds
EVERY = 12  # syncs of a thread: one hangs, the others do not
SLOW_S = 15.0
TTL_S = 5.0


@contextmanager
def slow_disks(cluster: EtcdCluster) -> Iterator[str]:
    """Let the disk of every member hang again and again: by strace, or by freezing it without."""
    strace = shutil.which("strace")
    delay = f"inject=fdatasync,fsync:delay_enter={int(HANG_S * 1e6)}:when=3+{EVERY}"
    tracers: list[subprocess.Popen[bytes]] = []
    if strace:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for member in cluster.members:
            command = (strace, "-f", "-q", "-e", "trace=fdatasync,fsync", "-e", delay)
            tracers.append(subprocess.Popen([*command, "-p", str(member.pid)], **quiet))  # type: ignore[call-overload]
        time.sleep(0.5)
    traced = tracers and all(tracer.poll() is None for tracer in tracers)
    try:
        yield "strace" if traced else "freeze"  # There may be no strace, or it may not trace here.
    finally:
        for tracer in tracers:
            tracer.terminate()
            tracer.wait()


async def pulses(cluster: EtcdCluster, until: float) -> None:
    """Freeze one member after the other for a moment, as a disk does that hangs."""
    while time.monotonic() < until:
        for member in cluster.members:
            member.freeze()
            await asyncio.sleep(HANG_S)
            member.thaw()
            await asyncio.sleep(0.2)


async def test_a_slow_disk_loses_no_decision_and_no_node(etcd_binary: Path, tmp_path: Path) -> None:
    """Every acknowledged submit is decided on, once; a node that beats is never called lost."""
    cluster = EtcdCluster.start(etcd_binary, data_dir=tmp_path / "etcd", size=3)
    try:
        await _run(cluster)
    finally:
        cluster.stop()


async def _run(cluster: EtcdCluster) -> None:
    client, randomness = connect(cluster.endpoints), SystemRandomness()

    def a_log(name: str) -> EtcdLog:
        return EtcdLog(client, KEYS, producer=f"{name}.{randomness.token(6)}")

    config = MasterConfig(
        name="m1", cluster=ClusterConfig(cluster="slow"), lease_ttl_s=TTL_S, snapshot_every=50
    )
    master = Master(
        config,
        etcd=client,
        log=a_log("m1.lead"),
        planner=InlinePlanner(),
        clock=SystemClock(),
        randomness=randomness,
    )
    work = [asyncio.create_task(master.run()), asyncio.create_task(_hold_node(cluster))]
    accepted: dict[str, str] = {}
    user = a_log("user")
    await user.bootstrap()
    await user.append((a_node("n1", cpus=64, memory_gib=64),), stamp=BY_TEST)
    async with asyncio.timeout(30):
        while not master.is_leader() or "n1" not in master.state().nodes:  # noqa: ASYNC110 - others' work
            await asyncio.sleep(0.1)
    try:
        with slow_disks(cluster) as how:
            ends_at = time.monotonic() + SLOW_S
            if how == "freeze":
                work.append(asyncio.create_task(pulses(cluster, ends_at)))
            n = 0
            while time.monotonic() < ends_at:
                n += 1
                event = an_app(f"a{n}", cpus=0.1, memory_gib=0.1, max=1)
                receipt = await _submit(user, event, f"k{n}")
                accepted[f"k{n}"] = receipt
                await asyncio.sleep(0.1)
        recorded = await _decided(client, set(accepted.values()))
        failures = [task.exception() for task in work if task.done() and not task.cancelled()]
        assert all(failure is None for failure in failures), failures
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await client.close()
    assert len(accepted) > 2, "it was not slow but dead"
    submits = [one.event.app_id for one in recorded if isinstance(one.event, AppSubmitted)]
    assert sorted(submits) == sorted(accepted.values())
    lost = [one for one in recorded if isinstance(one.event, NodeLost)]
    assert not lost, "a node that beat all the time was called lost"


async def _submit(log: EtcdLog, event: AppSubmitted, key: str) -> str:
    """Submit until it is acknowledged, as a client does."""
    async with asyncio.timeout(60):
        while True:
            try:
                return (await log.submit(event, key=key, stamp=BY_TEST)).app_id
            except Unavailable:
                continue


async def _hold_node(cluster: EtcdCluster) -> None:
    """Hold the key of a node as its agent does: by a lease, taken again whenever it is gone."""
    client, lease_id = connect(cluster.endpoints), 0
    try:
        while True:
            try:
                if not lease_id or (await client.keep_alive(lease_id)).ttl_s <= 0:
                    lease_id = (await client.grant(TTL_S)).lease_id
                key = KEYS.node("n1")
                if await client.get(key) is None:
                    guard = (Compare(key, "create", 0),)
                    await client.txn(guard, (Put(key, b"here", lease_id),))
            except Unavailable:
                continue
            await asyncio.sleep(1.0)
    finally:
        await client.close()


async def _decided(client: object, wanted: set[str]) -> tuple[Recorded, ...]:
    """Wait until every application of `wanted` has a layout decision; return the whole log."""
    log = EtcdLog(client, KEYS, producer="reader")  # type: ignore[arg-type]
    async with asyncio.timeout(60):
        while True:
            recorded: list[Recorded] = []
            at_end, after = False, 0
            while not at_end:
                page = await log.read(after=after)
                recorded += page.recorded
                at_end, after = page.at_end, page.through
            decisions = (one.event for one in recorded if isinstance(one.event, LayoutDecided))
            if wanted <= {app_id for decision in decisions for app_id in decision.changes}:
                return tuple(recorded)
            await asyncio.sleep(0.5)
