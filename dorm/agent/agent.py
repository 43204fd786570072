"""The agent of one node: loops with one concern each, which ring each other's bells.

They live as long as the node's tenure. When masters end it, the agent ends what ran under it and
begins anew under another.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import ClassVar, Final

import structlog

from dorm.agent.containers import Containers
from dorm.agent.description import Listener, api_url
from dorm.agent.hands import Hands
from dorm.agent.history import History
from dorm.agent.keeper import Keeper
from dorm.agent.memory import Memory
from dorm.agent.orders import Orders
from dorm.agent.outbox import Outbox
from dorm.agent.paths import Paths
from dorm.agent.registration import Holder, Registration, TenureOver
from dorm.agent.reporter import Reporter
from dorm.agent.right import Right
from dorm.agent.seeder import Seeder
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.failpoints import point
from dorm.ports import Checkpoints, Clock, Docker, Etcd, Files, Masters, Randomness, Warden
from dorm.streams import closing
from dorm.tenure import TenureRecord
from events.errors import NotFound, Unavailable
from events.log import EventLog
from reconcilers.documents import NodeDocument, container_name

_log = structlog.get_logger()

INCARNATION_LENGTH: Final = 12
AGENT_ID_LENGTH: Final = 20
TENURE_LENGTH: Final = 12


class Agent:
    """One node's agent. It may be killed at any moment; the next one goes on where it stood.

    Attributes:
        node_id: The node's name.
        right: What it is made of; a test puts a broken one in.
    """

    right: ClassVar[type[Right]] = Right

    def __init__(  # noqa: PLR0913 - the ports, each by its name
        self,
        config: AgentConfig,
        *,
        etcd: Etcd,
        log: EventLog,
        docker: Docker,
        files: Files,
        checkpoints: Checkpoints,
        clock: Clock,
        randomness: Randomness,
        masters: Masters,
        warden: Warden | None = None,
    ) -> None:
        """Take the ports. Without a warden the node holds no tenure, and is never fenced off."""
        self.node_id = config.node_id
        self._config, self._paths = config, Paths(config.state_dir)
        self._world = World(
            etcd=etcd,
            log=log,
            docker=docker,
            files=files,
            checkpoints=checkpoints,
            clock=clock,
            randomness=randomness,
            masters=masters,
            warden=warden,
        )
        self._incarnation = randomness.token(INCARNATION_LENGTH)

    async def run(self) -> None:
        """Serve the node until cancelled. Its containers run on then.

        Raises:
            ExceptionGroup: With a `Corrupt`: what was read cannot be trusted, a person must look.
        """
        memory = await self._recall()
        if self._world.warden is None:
            await self._begin("", memory)
        elif not memory.now.tenure:
            await self._begin_tenure(memory)
        while True:  # Once for each tenure.
            try:
                await self._serve(memory)
            except* TenureOver:
                _log.error("agent.tenure_over", node_id=self.node_id, tenure=memory.now.tenure)
            await self._begin_tenure(memory)

    async def _serve(self, memory: Memory) -> None:  # noqa: PLR0915 - it wires all loops
        """Serve the node under its present tenure.

        Raises:
            ExceptionGroup: Of `TenureOver`, or of `Corrupt`.
        """
        config, world = self._config, self._world
        registration = self._registration(memory)
        cluster, node_id = config.cluster.cluster, config.node_id
        history = History(
            world,
            memory,
            cluster=cluster,
            node_id=node_id,
            proof=lambda: registration.wrote,
            look_s=config.store_look_s,
        )
        outbox = Outbox(world, memory, history, node_id=node_id)
        orders = Orders(world, memory, history, cluster=cluster, node_id=node_id)
        reporter = Reporter(
            config,
            world,
            incarnation=self._incarnation,
            orders=orders,
            alarm=lambda: history.alarm,
        )
        right = self.right(
            config,
            world,
            tenure=memory.now.tenure,
            registration=registration,
            reporter=reporter,
        )

        def document() -> NodeDocument | None:
            """Return the document, if it is of this epoch and tenure, and containers may run."""
            found, may_run = orders.document, registration.held.is_set() and right.holds
            if found is None or found.epoch != history.epoch or not history.settled:
                return None
            return found if found and may_run and found.tenure == memory.now.tenure else None

        seeder = Seeder(config, world, outbox)
        keeper = Keeper(config, world, memory=memory, outbox=outbox, document=document)
        hands = Hands(config, world, memory=memory, outbox=outbox, seeder=seeder, keeper=keeper)
        containers = Containers(
            world,
            memory=memory,
            hands=hands,
            document=document,
            settled=outbox.settle,
            relist_s=config.relist_s,
        )
        outbox.may_describe = registration.held.is_set
        orders.ring = containers.ring

        def may_run_again() -> None:
            outbox.ring()
            containers.ring()

        right.ring = may_run_again
        reporter.held = containers.held
        history.take = orders.take

        def begin_anew() -> None:
            outbox.describe_again()
            containers.begin_anew()

        history.entered = begin_anew
        listener = Listener(
            config,
            world,
            incarnation=self._incarnation,
            tenure=memory.now.tenure,
            outbox=outbox,
            ring=containers.ring,
        )
        await right.begin()
        async with asyncio.TaskGroup() as group:
            group.create_task(registration.run())
            group.create_task(orders.run())
            group.create_task(history.run())
            group.create_task(outbox.run())
            group.create_task(seeder.run())
            group.create_task(keeper.run())
            group.create_task(containers.run())
            group.create_task(right.run())
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

    async def _begin_tenure(self, memory: Memory) -> None:
        """End everything that ran under another tenure, then begin a new one.

        A crash on the way is no harm: the next agent finds the old tenure ended, and does it again.
        """
        warden, tenure = self._world.warden, self._world.randomness.token(TENURE_LENGTH)
        backoff = self._world.backoff()
        while warden is not None:  # Until nothing is left; whoever waits for this node knows.
            try:
                if await warden.ensure():
                    await warden.permit(tenure, 0.0)
                    if await warden.empty(tenure):
                        break
                _log.warning("agent.clears", node_id=self.node_id, tenure=tenure)
            except Unavailable as error:
                _log.warning("agent.clears", node_id=self.node_id, reason=str(error))
            await backoff.wait()
        point("agent.tenure.cleared")
        await self._begin(tenure, memory)
        point("agent.tenure.begun")

    async def _begin(self, tenure: str, memory: Memory) -> None:
        """Remember a new tenure, in which nothing ran yet."""
        backoff = self._world.backoff()
        while memory.now.tenure != tenure:  # Until the disk answers.
            try:
                await memory.begin_tenure(tenure)
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
            tenure=TenureRecord(tenure=memory.now.tenure, fence_s=self._config.fence_s)
            if memory.now.tenure
            else None,
            memory=memory,
            ttl_s=self._config.lease_ttl_s,
        )
