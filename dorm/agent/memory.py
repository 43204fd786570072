"""What must outlive the agent: which containers were started, stopped, reported, and to whom.

All of it is one small file, replaced in one step. So a report and the fact that its container is
closed for ever are written together, and no crash can fall between the two.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import Any

import attrs
import structlog

from dorm.failpoints import point
from dorm.ports import Files
from events.codec import from_json, to_json
from events.errors import Corrupt, Unavailable
from events.generations import ContainerExited
from reconcilers.documents import container_name
from reconcilers.node import Key

_log = structlog.get_logger()


@attrs.frozen(kw_only=True)
class ContainerMemory:
    """What the agent knows of one container that Docker does not.

    Attributes:
        launched_at_s: When its start was ordered, by this machine's monotonic clock. From then on
            it may have run.
        signalled_at_s: When its stop signal was sent, by this machine's monotonic clock.
        killed_at_s: When SIGKILL was, or was about to be, sent because the grace time was over.
        started: It was seen running; `start_sent` once the log has it.
        exit: The report of its end. From here on it is closed: nothing of it may run again.
        exit_sent: The log has that report.
    """

    app_id: str
    generation: int
    rank: int
    launched_at_s: float | None = None
    signalled_at_s: float | None = None
    killed_at_s: float | None = None
    started: bool = False
    start_sent: bool = False
    exit: ContainerExited | None = None
    exit_sent: bool = False

    @property
    def key(self) -> Key:
        """Return the container's key."""
        return self.app_id, self.generation, self.rank

    @property
    def all_sent(self) -> bool:
        """Return whether the log has all that there was to report."""
        return (self.start_sent or not self.started) and (self.exit_sent or self.exit is None)


@attrs.frozen(kw_only=True)
class Remembered:
    """The content of the memory file.

    Attributes:
        agent_id: Made once; by it a restarted agent recognises its own node key.
        tenure: The right to run containers that this agent holds, or held last; empty before the
            first, and for a node that cannot be fenced.
        cleared: The tenure before, of which nothing is left here; empty if there was none.
        document_revision: No document older than this is believed.
        containers: By name.
        saved_logs: Names of removed containers whose output is kept, oldest first.
    """

    agent_id: str
    tenure: str = ""
    cleared: str = ""
    document_revision: int = 0
    containers: Mapping[str, ContainerMemory] = attrs.field(factory=dict)
    saved_logs: tuple[str, ...] = ()


class Memory:
    """The memory of an agent. What is in hand is on disk already, except for what is only noted.

    Attributes:
        now: The content.
    """

    def __init__(self, files: Files, path: str, now: Remembered) -> None:
        self.now = now
        self._files, self._path = files, path
        self._writing = asyncio.Lock()
        self._believed = now.document_revision

    @classmethod
    async def load(cls, files: Files, path: str, *, new_agent_id: str) -> "Memory":
        """Return the memory of the agent before, or a new one.

        Raises:
            Corrupt: The file is damaged. Without it nobody knows what was started here.
            Unavailable: The disk is full, or broken.
        """
        raw = await files.read(path)
        if raw is None:
            memory = cls(files, path, Remembered(agent_id=new_agent_id))
            await memory._write(lambda now: now)
            return memory
        try:
            return cls(files, path, from_json(raw, Remembered))
        except Corrupt as error:
            msg = (
                f"{path} is damaged ({error}): remove this node's containers by hand, "
                "then the file, and start the agent again"
            )
            raise Corrupt(msg) from error

    def of(self, key: Key) -> ContainerMemory:
        """Return what is known of a container."""
        return _of(self.now, key)

    async def change(self, *keys: Key, **changes: Any) -> None:  # noqa: ANN401 - attrs.evolve's
        """Change what is known of these containers, durably."""
        await self._write(lambda now: _changed(now, keys, changes))

    async def note(self, *keys: Key, **changes: Any) -> None:  # noqa: ANN401 - attrs.evolve's
        """Change what is known of these containers at once; durably if the disk allows.

        For what may be said or done twice. A stop must not wait for a full disk, which the very
        container that is to be stopped may have filled.
        """
        self.now = _changed(self.now, keys, changes)
        await self._save()

    async def begin_tenure(self, tenure: str) -> None:
        """Begin a tenure of which nothing ran yet. Of the one before nothing may be left."""
        await self._write(
            lambda now: attrs.evolve(now, tenure=tenure, cleared=now.tenure, containers={})
        )

    def believe(self, document_revision: int) -> None:
        """Note that a document is believed: durably with the next write."""
        self._believed = max(self._believed, document_revision)

    async def keep_log(self, name: str, *, most: int) -> tuple[str, ...]:
        """Note that a removed container's output is kept. Returns the names to drop for it."""
        before = self.now.saved_logs

        def kept(now: Remembered) -> Remembered:
            names = (*(other for other in now.saved_logs if other != name), name)
            return attrs.evolve(now, saved_logs=names[-most:])

        await self._write(kept)
        return tuple(other for other in before if other not in self.now.saved_logs)

    async def forget_all_but(self, keys: Collection[Key]) -> None:
        """Forget what is over: neither wanted, nor there, nor still to be reported."""
        kept = {
            name: one
            for name, one in self.now.containers.items()
            if one.key in keys or not one.all_sent
        }
        if len(kept) < len(self.now.containers):
            self.now = attrs.evolve(self.now, containers=kept)
            await self._save()

    async def _save(self) -> None:
        """Write what is in hand, or leave it to the next write."""
        try:
            await self._write(lambda now: now)
        except Unavailable as error:
            _log.warning("memory.waits", reason=str(error))

    async def _write(self, change: Callable[[Remembered], Remembered]) -> None:
        async with self._writing:
            new = attrs.evolve(change(self.now), document_revision=self._believed)
            point("agent.memory.unwritten")
            await self._files.write(self._path, to_json(new))
            point("agent.memory.written")
            # Once more: something may have been noted while it was written.
            self.now = attrs.evolve(change(self.now), document_revision=new.document_revision)


def _changed(now: Remembered, keys: Collection[Key], changes: Mapping[str, Any]) -> Remembered:
    new = {container_name(*key): attrs.evolve(_of(now, key), **changes) for key in keys}
    return attrs.evolve(now, containers={**now.containers, **new})


def _of(now: Remembered, key: Key) -> ContainerMemory:
    blank = ContainerMemory(app_id=key[0], generation=key[1], rank=key[2])
    return now.containers.get(container_name(*key), blank)
