"""Run a master as a process: wire the ports, serve the API, hand over at a clean stop."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import attrs
import structlog
from starlette.requests import Request
from starlette.responses import Response

from dorm import doctor, etcd, failpoints
from dorm.api.agent_logs import HttpAgentLogs
from dorm.api.checkup import Checkup
from dorm.api.failsafe import answering
from dorm.api.logs import LogReader
from dorm.api.routes import build
from dorm.api.service import Service
from dorm.clock import SystemClock, SystemRandomness
from dorm.config import MasterConfig
from dorm.files import SystemFiles
from dorm.keys import Keys
from dorm.log.etcd_log import EtcdLog
from dorm.master.master import Master
from dorm.master.metrics import CONTENT_TYPE, Metrics
from dorm.planner.supervisor import ChildPlanner
from dorm.ports import Etcd
from dorm.serving import listen, run_beside
from dorm.space.archive import Archive
from events.errors import Corrupt

_log = structlog.get_logger()

INCARNATION_LENGTH: Final = 8
EXIT_OK: Final = 0
EXIT_CORRUPT: Final = 4


def run_master(config: MasterConfig) -> int:
    """Run until SIGTERM or SIGINT; return the exit code: 4 when the log is corrupt.

    Raises:
        Rejected: The configuration cannot be used.
    """
    failpoints.arm(os.environ.get(failpoints.VARIABLE, ""))
    return asyncio.run(_run(config))


async def _run(config: MasterConfig) -> int:
    listener = listen(config.listen_host, config.listen_port)
    url = config.url or f"http://{config.listen_host}:{listener.getsockname()[1]}"
    config = attrs.evolve(config, url=url)
    _log.info("master.listening", name=config.name, url=url)
    clock, randomness = SystemClock(), SystemRandomness()
    keys = Keys(config.cluster.cluster)
    client = etcd.connect(config.cluster.etcd)
    incarnation = randomness.token(INCARNATION_LENGTH)

    def log_of(part: str) -> EtcdLog:
        return EtcdLog(client, keys, producer=f"{config.name}.{part}.{incarnation}")

    api_log = log_of("api")
    directory = config.space.archive
    archive = Archive(SystemFiles(), directory, cluster=config.cluster.cluster)
    planner = ChildPlanner(config.planner, clock=clock, randomness=randomness)
    master = Master(
        config,
        etcd=client,
        log=log_of("lead"),
        planner=planner,
        clock=clock,
        randomness=randomness,
        other_logs=(api_log,),
        archive=archive if directory else None,
    )
    agents = HttpAgentLogs()
    checkup = Checkup(master, etcd=client, endpoints=config.cluster.etcd, clock=clock)
    service = Service(
        name=config.name,
        log=api_log,
        clock=clock,
        randomness=randomness,
        view=master,
        findings=checkup.findings,
    )
    app = build(service, LogReader(master, log=api_log, agents=agents, clock=clock))
    app.add_route("/v1/failsafe", answering(config.name, master.promise), methods=["POST"])
    app.add_route("/metrics", scraped(master.metrics), methods=["GET"])
    exit_code = EXIT_OK
    await warn_of_etcd(client, config.cluster.etcd)
    await planner.warm()
    try:
        await run_beside(master.run(), app, listener)
    except* Corrupt as group:
        exit_code = EXIT_CORRUPT
        _log.error("log.corrupt", errors=[str(error) for error in group.exceptions])
    finally:
        await master.resign()
        await planner.close()
        await agents.close()
        await client.close()
    return exit_code


async def warn_of_etcd(client: Etcd, endpoints: Sequence[str]) -> None:
    """Log what is known to be wrong with etcd; `dorm doctor` shows it again at any time."""
    for one in doctor.of_etcd(await client.status(), endpoints):
        if one.level != "ok":
            _log.warning("etcd.warning", member=one.subject, text=one.text, hint=one.hint)


def scraped(metrics: Metrics) -> Callable[[Request], Awaitable[Response]]:
    """Return the route `GET /metrics`."""

    async def scrape(_: Request) -> Response:
        return Response(metrics.scrape(), media_type=CONTENT_TYPE)

    return scrape
