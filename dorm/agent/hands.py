"""The actions of the node reconciler, carried out."""

from collections.abc import Collection
from typing import Final, assert_never

import structlog

from dorm.agent import checkpoints, launch
from dorm.agent.memory import Memory
from dorm.agent.outbox import Outbox
from dorm.agent.paths import Paths
from dorm.agent.world import World
from dorm.config import AgentConfig
from events.errors import NotFound, Rejected, Unavailable
from events.generations import ContainerExited
from reconcilers.documents import NodeDocument, WantedContainer
from reconcilers.node import (
    Action,
    Create,
    Key,
    Kill,
    ReportExited,
    ReportStarted,
    SaveLogsAndRemove,
    Signal,
    Start,
)

_log = structlog.get_logger()

SAVED_LOGS_MAX: Final = 200
MESSAGE_LENGTH_MAX: Final = 500


class Hands:
    """Every effect on containers, no decision.

    Attributes:
        refused: Why the engine will never make or start these containers.
    """

    def __init__(
        self, config: AgentConfig, world: World, *, memory: Memory, outbox: Outbox
    ) -> None:
        self.refused: dict[Key, str] = {}
        self._config, self._paths = config, Paths(config.state_dir)
        self._docker, self._files, self._clock = world.docker, world.files, world.clock
        self._memory, self._outbox = memory, outbox

    def forget_all_but(self, keys: Collection[Key]) -> None:
        """Forget the refusals of containers that nobody wants any more."""
        self.refused = {key: why for key, why in self.refused.items() if key in keys}

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
                # Remembered afterwards: better a second signal than a kill without a first.
                await self._note(action, signalled_at_s=self._clock.monotonic())
            case Kill():
                await self._note(action, killed_at_s=self._clock.monotonic())
                await self._docker.signal(action.name, "SIGKILL")
            case ReportStarted():
                origin = _find(document, action.key).origin
                await self._memory.change_of(action.key, origin, started=True)
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
        try:
            order = launch.launch(
                wanted,
                self._config,
                revision=action.revision,
                epoch=action.epoch,
                tenure=self._memory.now.tenure,
            )
            directory = launch.checkpoint_directory(wanted, self._config)
            if directory is not None:
                await self._files.make_dir(directory.path, below=directory.below, for_all=True)
            await self._files.make_dir(self._paths.run_dir(wanted.name), for_all=True)
            await self._files.write(self._paths.membership(wanted.name), launch.membership(wanted))
            await self._docker.create(order)
        except Rejected as error:
            self._refuse(action.key, error)

    async def _start(self, action: Start, wanted: WantedContainer) -> None:
        now_s = self._clock.monotonic()
        await self._memory.change_of(action.key, wanted.origin, launched_at_s=now_s)
        try:
            await self._docker.start(action.name)
        except NotFound:
            return  # Removed meanwhile; the next look will tell.
        except Rejected as error:
            self._refuse(action.key, error)

    async def _report_exited(self, action: ReportExited, wanted: WantedContainer) -> None:
        step = None
        if wanted.rank == 0:
            step = await checkpoints.newest_step(self._files, wanted, self._config)
        event = ContainerExited(
            app_id=wanted.app_id,
            generation=wanted.generation,
            rank=wanted.rank,
            node_id=self._config.node_id,
            exit_code=action.exit_code,
            reason=action.reason,
            message=action.message[:MESSAGE_LENGTH_MAX],
            checkpoint_step=step,
        )
        await self._memory.change_of(action.key, wanted.origin, exit=event)
        self._outbox.ring()

    async def _save_logs_and_remove(self, action: SaveLogsAndRemove) -> None:
        try:
            await self._files.save(
                self._paths.log(action.name), self._docker.logs(action.name, follow=False)
            )
            for name in await self._memory.keep_log(action.name, most=SAVED_LOGS_MAX):
                await self._files.remove(self._paths.log(name))
            await self._docker.remove(action.name)
        except NotFound:
            _log.debug("container.gone", container=action.key)
        except Rejected as error:
            msg = f"{action.name} cannot be removed: {error}"
            raise Unavailable(msg) from error
        await self._files.remove(self._paths.run_dir(action.name))

    async def _note(self, action: Signal | Kill, **changes: float) -> None:
        await self._memory.change_of(action.key, action.origin, **changes)

    def _refuse(self, key: Key, error: Rejected) -> None:
        _log.warning("container.refused", container=key, reason=str(error))
        self.refused[key] = str(error)


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
