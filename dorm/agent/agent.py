"""The agent of one node: loops with one concern each, which ring each other's bells."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Final

import structlog

from dorm.agent.containers import Containers
from dorm.agent.description import Listener, api_url
from dorm.agent.hands import Hands
from dorm.agent.history import History
from dorm.agent.memory import Memory
from dorm.agent.orders import Orders
from dorm.agent.outbox import Outbox
from dorm.agent.paths import Paths
from dorm.agent.registration import Holder, Registration
from dorm.agent.reporter import Reporter
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.ports import Clock, Docker, Etcd, Files, Randomness
from dorm.streams import closing
from events.errors import NotFound, Unavailable
from events.log import EventLog
from reconcilers.documents import NodeDocument, container_name

_log = structlog.get_logger()

INCARNATION_LENGTH: Final = 12
AGENT_ID_LENGTH: Final = 20


class Agent:
    """One node's agent. It may be killed at any moment; the next one goes on where it stood.

    Attributes:
        node_id: The node's name.
    """

    def __init__(  # noqa: PLR0913 - the ports, each by its name
        self,
        config: AgentConfig,
        *,
        etcd: Etcd,
        log: EventLog,
        docker: Docker,
        files: Files,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self.node_id = config.node_id
        self._config, self._paths = config, Paths(config.state_dir)
        self._world = World(
            etcd=etcd, log=log, docker=docker, files=files, clock=clock, randomness=randomness
        )
        self._incarnation = randomness.token(INCARNATION_LENGTH)

    async def run(self) -> None:
        """Serve the node until cancelled. Its containers run on then.

        Raises:
            ExceptionGroup: With a `Corrupt`: what was read cannot be trusted, a person must look.
        """
        config, world, memory = self._config, self._world, await self._recall()
        registration = self._registration(memory)
        cluster, node_id = config.cluster.cluster, config.node_id
        history = History(
            world, memory, cluster=cluster, node_id=node_id, proof=lambda: registration.wrote
        )
        outbox = Outbox(world, memory, history, node_id=node_id)
        orders = Orders(world, memory, history, cluster=cluster, node_id=node_id)
        containers = self._containers(memory, outbox, registration, orders, history)
        orders.ring = containers.ring
        history.take = orders.take

        def begin_anew() -> None:
            outbox.describe_again()
            containers.begin_anew()

        history.entered = begin_anew
        listener = Listener(
            config, world, incarnation=self._incarnation, outbox=outbox, ring=containers.ring
        )
        reporter = Reporter(
            config,
            world,
            incarnation=self._incarnation,
            registration=registration,
            orders=orders,
            history=history,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(registration.run())
            group.create_task(orders.run())
            group.create_task(history.run())
            group.create_task(outbox.run())
            group.create_task(containers.run())
            group.create_task(reporter.run())
            await registration.held.wait()  # A node that reports without a lease counts as lost.
            containers.ring()
            group.create_task(listener.run())

    def now_ms(self) -> int:
        """Return this machine's UTC time, for those who compare clocks."""
        return self._world.clock.now_ms()

    async def logs(
        self, app_id: str, generation: int, rank: int, *, follow: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield a container's output: from Docker, or what was kept when it was removed.

        Raises:
            NotFound: Neither is there.
            Unavailable: Docker does not answer.
        """
        name = container_name(app_id, generation, rank)
        with suppress(NotFound):
            async with closing(self._world.docker.logs(name, follow=follow)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        saved = await self._world.files.read(self._paths.log(name))
        if saved is None:
            raise NotFound(
                f"has no output on node {self._config.node_id}",
                field="container",
                value=name,
                hint="it was never started here, or its output was dropped for newer ones",
            )
        yield saved

    async def _recall(self) -> Memory:
        backoff = self._world.backoff()
        while True:  # Until the disk answers; a full one may be cleared.
            try:
                return await Memory.load(
                    self._world.files,
                    self._paths.memory,
                    new_agent_id=self._world.randomness.token(AGENT_ID_LENGTH),
                )
            except Unavailable as error:
                _log.error("agent.no_memory", reason=str(error))
                await backoff.wait()

    def _registration(self, memory: Memory) -> Registration:
        holder = Holder(
            agent_id=memory.now.agent_id,
            incarnation=self._incarnation,
            api_url=api_url(self._config),
        )
        return Registration(
            self._world,
            cluster=self._config.cluster.cluster,
            node_id=self._config.node_id,
            holder=holder,
            ttl_s=self._config.lease_ttl_s,
        )

    def _containers(
        self,
        memory: Memory,
        outbox: Outbox,
        registration: Registration,
        orders: Orders,
        history: History,
    ) -> Containers:
        def document() -> NodeDocument | None:
            """Return the document, unless another agent has this node's name, or it is no more."""
            newest = orders.document
            if newest is None or newest.epoch != history.epoch or not history.settled:
                return None
            return newest if registration.held.is_set() else None

        return Containers(
            self._world,
            memory=memory,
            hands=Hands(self._config, self._world, memory=memory, outbox=outbox),
            document=document,
            settled=outbox.settle,
            relist_s=self._config.relist_s,
        )
