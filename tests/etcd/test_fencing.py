"""A paused old leader changes nothing: not by good timing, but because etcd refuses its writes."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from dorm.etcd import EtcdClient
from dorm.keys import Keys
from dorm.local.etcd_process import EtcdCluster
from dorm.log.etcd_log import EtcdLog
from events.control import LeaderElected
from tests.contracts.log_contract import read_all

pytestmark = pytest.mark.etcd

WAIT_S = 20.0


async def start_master(server: EtcdCluster, keys: Keys, name: str) -> Process:
    """Start a process that campaigns, then writes as fast as it can."""
    cluster = keys.root.rsplit("/", 1)[1]
    arguments = ["-m", "tests.etcd.leading", server.endpoints[0], cluster, name]
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=PIPE, env={**os.environ, "PYTHONPATH": os.curdir}
    )


async def next_line(process: Process) -> str:
    """Return what the process says next."""
    assert process.stdout is not None
    async with asyncio.timeout(WAIT_S):
        return (await process.stdout.readline()).decode().strip()


async def test_a_paused_old_leader_changes_nothing(
    etcd_server: EtcdCluster, etcd_client: EtcdClient, keys: Keys
) -> None:
    """SIGSTOP past its lease, then SIGCONT: its writes of the old epoch are all refused."""
    old = await start_master(etcd_server, keys, "old")
    new = None
    try:
        assert (await next_line(old)).startswith("leads ")
        await asyncio.sleep(0.5)
        old.send_signal(signal.SIGSTOP)
        new = await start_master(etcd_server, keys, "new")
        assert (await next_line(new)).startswith("leads ")
        await asyncio.sleep(0.5)

        old.send_signal(signal.SIGCONT)

        assert "fenced" == await next_line(old)
    finally:
        for process in filter(None, (old, new)):
            if process.returncode is None:
                process.kill()
            await process.communicate()
    log = EtcdLog(etcd_client, keys, producer="reader")
    masters = [r.event.master for r in await read_all(log) if isinstance(r.event, LeaderElected)]
    assert {"old", "new"} == set(masters)
    assert ["old"] * masters.count("old") == masters[: masters.count("old")], "one term, then one"
