"""Run an agent as a process: wire the ports, serve logs; containers outlive it."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import attrs
import structlog

from dorm import etcd, failpoints
from dorm.agent.agent import Agent
from dorm.agent.http import build
from dorm.agent.masters import HttpMasters
from dorm.checkpoints import SystemCheckpoints
from dorm.clock import SystemClock, SystemRandomness
from dorm.config import AgentConfig
from dorm.engine import DockerEngine
from dorm.files import SystemFiles
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.serving import listen, run_beside
from dorm.warden.process import SystemWarden
from events.errors import Corrupt, Rejected

_log = structlog.get_logger()

PRODUCER_LENGTH: Final = 8
RUN_DIR: Final = "/run/dorm"
EXIT_OK: Final = 0
EXIT_CORRUPT: Final = 4


def run_agent(config: AgentConfig) -> int:
    """Run until SIGTERM or SIGINT; return the exit code: 4 when something cannot be trusted.

    Raises:
        Rejected: The configuration cannot be used, or another agent uses the state directory.
    """
    failpoints.arm(os.environ.get(failpoints.VARIABLE, ""))
    with _alone_in(Path(config.state_dir) / "lock", option="--state-dir"):
        return asyncio.run(_run(config))


async def _run(config: AgentConfig) -> int:
    listener = listen(config.listen_host, config.listen_port)
    config = attrs.evolve(config, listen_port=listener.getsockname()[1])
    _log.info("agent.listening", node_id=config.node_id, port=config.listen_port)
    cluster, randomness = config.cluster, SystemRandomness()
    client = etcd.connect(cluster.etcd)
    producer = f"{config.node_id}.agent.{randomness.token(PRODUCER_LENGTH)}"
    engine = DockerEngine(
        config.docker_url,
        cluster=cluster.cluster,
        node_id=config.node_id,
        disk_bytes_min=config.disk_bytes_min,
    )
    masters = HttpMasters()
    warden = await guard(config)
    agent = Agent(
        config,
        etcd=client,
        log=EtcdLog(client, Keys(cluster.cluster), producer=producer),
        docker=engine,
        files=SystemFiles(),
        checkpoints=SystemCheckpoints(config.node_id),
        clock=SystemClock(),
        randomness=randomness,
        masters=masters,
        warden=warden,
    )
    exit_code, alone = EXIT_OK, ExitStack()
    if warden is not None:  # Two agents of one node would end what the other one runs.
        alone.enter_context(_alone_in(warden.run_dir / "agent.lock", option="--run-dir"))
    try:
        await run_beside(agent.run(), build(agent), listener)
    except* Corrupt as group:
        exit_code = EXIT_CORRUPT
        _log.error("agent.corrupt", errors=[str(error) for error in group.exceptions])
    finally:
        alone.close()
        engine.close()
        await masters.close()
        await client.close()
    return exit_code


async def guard(config: AgentConfig) -> SystemWarden | None:
    """Return the node's warden, at work; None for a node that is not to be guarded, or cannot be.

    Raises:
        Rejected: It is required, and cannot be had.
    """
    if config.fencing == "off":
        return None
    cluster, node_id = config.cluster.cluster, config.node_id
    run_dir = config.run_dir or f"{RUN_DIR}/{cluster}/{node_id}"
    warden = SystemWarden(run_dir, cluster=cluster, node_id=node_id)
    try:
        if not await warden.ensure():
            _log.warning("agent.warden_delayed", node_id=node_id)
    except Rejected as error:
        if config.fencing == "required":
            raise
        _log.warning("agent.unfenced", node_id=node_id, reason=str(error))
        return None
    return warden


@contextmanager
def _alone_in(path: Path, *, option: str) -> Iterator[None]:
    """Hold a directory by a file in it: two agents in one would undo each other's work.

    Raises:
        Rejected: It is in use, or cannot be used.
    """
    directory = path.parent
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Rejected(
            f"cannot be used: {error.strerror}",
            field=option,
            value=str(directory),
            hint="give a directory that this user may write",
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Rejected(
            "is in use by another agent",
            field=option,
            value=str(directory),
            hint="stop that agent, or give this one a directory of its own",
        ) from error
    else:
        yield
    finally:
        os.close(lock)
