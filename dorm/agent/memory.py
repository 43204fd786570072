"""What must outlive the agent: which containers were started, stopped, reported, and to whom.

All of it is one small file, replaced in one step. So a report and the fact that its container is
closed for ever are written together, and no crash can fall between the two.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

import attrs
import structlog

from dorm.failpoints import point
from dorm.ports import Files
from events.checkpoints import CheckpointSaved
from events.codec import from_json, to_json
from events.errors import Corrupt, Unavailable
from events.generations import ContainerExited
from reconcilers.documents import NodeDocument, container_name, same_origin
from reconcilers.exits import Key
from reconcilers.history import Position

_log = structlog.get_logger()

CLEARED_KEPT: Final = 100


@attrs.frozen(kw_only=True)
class ContainerMemory:
    """What the agent knows of one container that Docker does not.

    Attributes:
        origin: Which container of that name; see `reconcilers.documents.WantedContainer`.
        launched_at_s: When its start was ordered, by this machine's monotonic clock. From then on
            it may have run.
        signalled_at_s: When its stop signal was sent, by this machine's monotonic clock.
        killed_at_s: When SIGKILL was, or was about to be, sent because the grace time was over.
        started: It was seen running; `start_sent` once the log has it.
        saved: The report of the newest checkpoint that was kept; the log has it once its step is
            `saved_sent`.
        exit: The report of its end. From here on it is closed: nothing of it may run again.
        exit_sent: The log has that report.
    """

    app_id: str
    generation: int
    rank: int
    origin: str = ""
    launched_at_s: float | None = None
    signalled_at_s: float | None = None
    killed_at_s: float | None = None
    started: bool = False
    start_sent: bool = False
    saved: CheckpointSaved | None = None
    saved_sent: int | None = None
    exit: ContainerExited | None = None
    exit_sent: bool = False

    @property
    def key(self) -> Key:
        """Return the container's key."""
        return self.app_id, self.generation, self.rank

    @property
    def all_sent(self) -> bool:
        """Return whether the log has all that there was to report."""
        return (
            (self.start_sent or not self.started)
            and self.unsent_save is None
            and (self.exit_sent or self.exit is None)
        )

    @property
    def unsent_save(self) -> CheckpointSaved | None:
        """Return the report of a checkpoint that the log does not have."""
        return self.saved if self.saved and self.saved.step != self.saved_sent else None


@attrs.frozen(kw_only=True)
class Remembered:
    """The content of the memory file.

    Attributes:
        agent_id: Made once; by it a restarted agent recognises its own node key.
        tenure: The right to run containers that this agent holds, or held last; empty before the
            first, and for a node that cannot be fenced.
        tenure_held: It may stand in etcd, or have stood there; one that is not there any more is
            over.
        cleared: Tenures before it, the newest last, of which nothing is left here. More than one,
            since etcd may be restored from a backup that knows an older one.
        document_revision: No document older than this is believed, within its epoch.
        document_epoch: Epoch of the store that this and the containers are of.
        settled_epoch: The log knows that nothing of before this epoch is left here.
        store: How far the store was seen, as of the last write. It may lag, but never behind what
            was done with containers: each of those is a write.
        held: Why this agent obeys nothing until an operator begins a new epoch; or empty.
        containers: By name.
        saved_logs: Names of removed containers whose output is kept, oldest first.
    """

    agent_id: str
    tenure: str = ""
    tenure_held: bool = False
    cleared: tuple[str, ...] = ()
    document_revision: int = 0
    document_epoch: int = 1
    settled_epoch: int = 1
    store: Position = attrs.field(factory=Position)
    held: str = ""
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
        self._believed, self._seen = now.document_revision, now.store.revision

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
        await self._write(lambda now: _changed(now, [_of(now, key) for key in keys], changes))

    async def change_of(self, key: Key, origin: str, **changes: Any) -> None:  # noqa: ANN401 - attrs.evolve's
        """The same for one container of this origin: nothing of one before it is taken over."""
        changes["origin"] = origin
        await self._write(lambda now: _changed(now, [_of(now, key, origin)], changes))

    async def note(self, *keys: Key, **changes: Any) -> None:  # noqa: ANN401 - attrs.evolve's
        """Change what is known of these containers at once; durably if the disk allows.

        For what may be said or done twice. A stop must not wait for a full disk, which the very
        container that is to be stopped may have filled.
        """
        self.now = _changed(self.now, [_of(self.now, key) for key in keys], changes)
        await self._save()

    async def note_of(self, key: Key, origin: str, **changes: Any) -> None:  # noqa: ANN401 - attrs.evolve's
        """The same for one container of this origin."""
        changes["origin"] = origin
        self.now = _changed(self.now, [_of(self.now, key, origin)], changes)
        await self._save()

    async def begin_tenure(self, tenure: str) -> None:
        """Begin a tenure of which nothing ran yet. Of the one before nothing may be left."""

        def begun(now: Remembered) -> Remembered:
            cleared = (*now.cleared, now.tenure)[-CLEARED_KEPT:]
            return attrs.evolve(
                now, tenure=tenure, tenure_held=False, cleared=cleared, containers={}
            )

        await self._write(begun)

    async def hold_tenure(self) -> None:
        """Note that the tenure is about to be written, before it is."""
        if not self.now.tenure_held:
            await self._write(lambda now: attrs.evolve(now, tenure_held=True))

    def believe(self, document_revision: int) -> None:
        """Note that a document is believed: durably with the next write."""
        self._believed = max(self._believed, document_revision)

    @property
    def known(self) -> Position:
        """Return how far the store was ever seen."""
        return attrs.evolve(self.now.store, revision=self._seen)

    def saw(self, revision: int) -> None:
        """Note where the store stood: durably with the next write."""
        self._seen = max(self._seen, revision)

    async def keep_up(self, *, behind_max: int) -> None:
        """Make durable how far the store was seen, if that is more than this many revisions on."""
        if self._seen - self.now.store.revision > behind_max:
            await self._write(lambda now: now)

    async def hold(self, reason: str) -> None:
        """Note that nothing is obeyed any more, or again for no reason."""
        await self._write(lambda now: attrs.evolve(now, held=reason))

    async def enter(self, store: Position, *, first: bool) -> None:
        """Take another epoch of the store. What is remembered of containers is not of it yet.

        Args:
            store: What was found.
            first: No epoch was known before, so what is remembered is of this one.
        """
        epoch = store.epoch if first else self.now.document_epoch
        self._seen = store.revision
        await self._write(lambda now: attrs.evolve(now, store=store, held="", document_epoch=epoch))

    async def settled(self, epoch: int) -> None:
        """Note that the log knows this node to have settled in this epoch."""
        await self._write(lambda now: attrs.evolve(now, settled_epoch=epoch))

    async def rebase(self, document: NodeDocument) -> None:
        """Begin with the first document of another epoch.

        What happened to containers that its history knows is reported again, because the reports
        may be lost. The others are none of its business: their names may come again.
        """
        wanted = {container.name: container.origin for container in document.containers}

        def rebased(now: Remembered) -> Remembered:
            kept = {
                name: attrs.evolve(one, start_sent=False, exit_sent=False)
                for name, one in now.containers.items()
                if name in wanted and same_origin(one.origin, wanted[name])
            }
            self._believed = document.revision
            return attrs.evolve(now, containers=kept, document_epoch=document.epoch)

        await self._write(rebased)

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
            new = change(self.now)
            store = attrs.evolve(new.store, revision=self._seen)
            new = attrs.evolve(new, document_revision=self._believed, store=store)
            point("agent.memory.unwritten")
            await self._files.write(self._path, to_json(new))
            point("agent.memory.written")
            # Once more: something may have been noted while it was written.
            self.now = attrs.evolve(
                change(self.now), document_revision=new.document_revision, store=new.store
            )


def _of(now: Remembered, key: Key, origin: str = "") -> ContainerMemory:
    blank = ContainerMemory(app_id=key[0], generation=key[1], rank=key[2])
    found = now.containers.get(container_name(*key), blank)
    return found if same_origin(found.origin, origin) else blank


def _changed(
    now: Remembered, containers: Iterable[ContainerMemory], changes: Mapping[str, Any]
) -> Remembered:
    new = {container_name(*one.key): attrs.evolve(one, **changes) for one in containers}
    return attrs.evolve(now, containers={**now.containers, **new})
