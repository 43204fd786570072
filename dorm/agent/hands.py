"""The actions of the node reconciler, carried out."""

from collections.abc import Collection
from typing import Final, assert_never

import structlog

from dorm.agent import launch
from dorm.agent.keeper import Keeper
from dorm.agent.memory import Memory
from dorm.agent.outbox import Outbox
from dorm.agent.paths import Paths
from dorm.agent.seeder import Seeder
from dorm.agent.world import World
from dorm.config import AgentConfig
from dorm.failpoints import point
from dorm.ports.docker import DiskPressure, NotPulled, Unrunnable
from events.errors import DormError, NotFound, Rejected, Unavailable
from events.generations import ContainerExited
from reconcilers.documents import NodeDocument, WantedContainer
from reconcilers.exits import Key, Refusal, ReportExited
from reconcilers.node import Action, Create, Kill, ReportStarted, SaveLogsAndRemove, Signal, Start

_log = structlog.get_logger()

SAVED_LOGS_MAX: Final = 200
MESSAGE_LENGTH_MAX: Final = 500
PULLING_S: Final = 300.0
"""For so long an image is asked for again. Then its application fails, and waits its back-off."""


class Hands:
    """Every effect on containers, no decision.

    Attributes:
        refused: What the engine will never make or start.
    """

    def __init__(
        self,
        config: AgentConfig,
        world: World,
        *,
        memory: Memory,
        outbox: Outbox,
        seeder: Seeder,
        keeper: Keeper,
    ) -> None:
        self.refused: dict[Key, Refusal] = {}
        self._pulling_since_s: dict[Key, float] = {}
        self._config, self._paths = config, Paths(config.state_dir)
        self._docker, self._files, self._clock = world.docker, world.files, world.clock
        self._memory, self._outbox = memory, outbox
        self._seeder, self._keeper = seeder, keeper

    def forget_all_but(self, keys: Collection[Key]) -> None:
        """Forget what was refused, or not pulled yet, of containers that nobody wants any more."""
        self.refused = {key: why for key, why in self.refused.items() if key in keys}
        self._pulling_since_s = {
            key: at_s for key, at_s in self._pulling_since_s.items() if key in keys
        }
        self._seeder.forget_all_but(keys)
        self._keeper.forget_all_but(keys)

    async def perform(self, action: Action, document: NodeDocument) -> None:
        """Carry out one action.

        Raises:
            Unavailable: Not done, or perhaps; look again, then decide again.
        """
        match action:
            case Create():
                await self._create(action)
            case Start():
                await self._start(action, _find(document, action.key))
            case Signal():
                await self._docker.signal(action.name, action.signal)
                point("agent.signal.sent")
                # Remembered afterwards: better a second signal than a kill without a first.
                await self._note(action, signalled_at_s=self._clock.monotonic())
            case Kill():
                await self._note(action, killed_at_s=self._clock.monotonic())
                point("agent.kill.remembered")
                await self._docker.signal(action.name, "SIGKILL")
                point("agent.kill.sent")
            case ReportStarted():
                origin = _find(document, action.key).origin
                await self._memory.change_of(action.key, origin, started=True)
                point("agent.started.remembered")
                self._outbox.ring()
            case ReportExited():
                await self._report_exited(action, _find(document, action.key))
            case SaveLogsAndRemove():
                await self._save_logs_and_remove(action)
            case _ as never:
                assert_never(never)
        _log.info(f"container.{_WORDS[type(action)]}", container=action.key)

    async def _create(self, action: Create) -> None:
        wanted = action.wanted
        await self._check_disk()
        try:
            order = launch.launch(
                wanted,
                self._config,
                revision=action.revision,
                epoch=action.epoch,
                tenure=self._memory.now.tenure,
            )
            await self._seeder.prepare(wanted)
            await self._files.make_dir(self._paths.run_dir(wanted.name), for_all=True)
            await self._files.write(self._paths.membership(wanted.name), launch.membership(wanted))
            point("agent.create.prepared")
            await self._docker.create(order)
            point("agent.create.created")
        except Rejected as error:
            self._refuse(action.key, error, final=isinstance(error, Unrunnable))
        except NotPulled as error:
            now_s = self._clock.monotonic()
            if now_s - self._pulling_since_s.setdefault(action.key, now_s) < PULLING_S:
                raise
            self._refuse(action.key, error)

    async def _check_disk(self) -> None:
        """Fail while there is no room for another container. What runs is left alone."""
        path, least = self._config.state_dir, self._config.disk_bytes_min
        free = await self._files.free_bytes(path)
        if free < least:
            raise DiskPressure(path, free=free, least=least)

    async def _start(self, action: Start, wanted: WantedContainer) -> None:
        now_s = self._clock.monotonic()
        await self._memory.change_of(action.key, wanted.origin, launched_at_s=now_s)
        point("agent.start.remembered")
        try:
            await self._docker.start(action.name)
            point("agent.start.started")
        except NotFound:
            return  # Removed meanwhile; the next look will tell.
        except Rejected as error:
            self._refuse(action.key, error)

    async def _report_exited(self, action: ReportExited, wanted: WantedContainer) -> None:
        last = await self._keeper.last(wanted)
        lost = f"its last checkpoint is not kept: {last.problem}" if last.problem else ""
        message = "; ".join(part for part in (action.message, lost) if part)
        event = ContainerExited(
            app_id=wanted.app_id,
            generation=wanted.generation,
            rank=wanted.rank,
            node_id=self._config.node_id,
            exit_code=action.exit_code,
            reason=action.reason,
            final=action.final,
            message=message[:MESSAGE_LENGTH_MAX],
            checkpoint_step=last.step,
        )
        point("agent.exit.unremembered")
        await self._memory.change_of(action.key, wanted.origin, exit=event)
        point("agent.exit.remembered")
        self._outbox.ring()

    async def _save_logs_and_remove(self, action: SaveLogsAndRemove) -> None:
        try:
            await self._files.save(
                self._paths.log(action.name), self._docker.logs(action.name, follow=False)
            )
            point("agent.remove.log_saved")
            for name in await self._memory.keep_log(action.name, most=SAVED_LOGS_MAX):
                await self._files.remove(self._paths.log(name))
            point("agent.remove.log_noted")
            await self._docker.remove(action.name)
            point("agent.remove.removed")
        except NotFound:
            _log.debug("container.gone", container=action.key)
        except Rejected as error:
            msg = f"{action.name} cannot be removed: {error}"
            raise Unavailable(msg) from error
        await self._files.remove(self._paths.run_dir(action.name))

    async def _note(self, action: Signal | Kill, **changes: float) -> None:
        await self._memory.note_of(action.key, action.origin, **changes)

    def _refuse(self, key: Key, error: DormError, *, final: bool = False) -> None:
        _log.warning("container.refused", container=key, reason=str(error), final=final)
        self.refused[key] = Refusal(message=str(error), final=final)


_WORDS: Final[dict[type[Action], str]] = {
    Create: "created",
    Start: "start_ordered",
    Signal: "signalled",
    Kill: "killed",
    ReportStarted: "started",
    ReportExited: "exited",
    SaveLogsAndRemove: "removed",
}


def _find(document: NodeDocument, key: Key) -> WantedContainer:
    return next(container for container in document.containers if container.key == key)
