"""The desired document of a node: which containers should exist there, and how they are run."""

from collections.abc import Mapping

import attrs

from events.apps import Mount
from events.units import Resources


@attrs.frozen(kw_only=True)
class Peer:
    """One container of a generation as its peers see it.

    Attributes:
        host: Container name on a bridge network, the node's address on the host's network.
    """

    rank: int
    node_id: str
    host: str
    port: int


@attrs.frozen(kw_only=True)
class Seed:
    """A checkpoint that the generation may start from. Fields as in `CheckpointSaved`.

    Attributes:
        rejected: The log says that this generation found it damaged.
    """

    generation: int
    step: int
    manifest_sha256: str
    rejected: bool = False

    @property
    def position(self) -> tuple[int, int]:
        """Return what tells it from every other checkpoint of the application."""
        return self.generation, self.step


@attrs.frozen(kw_only=True)
class StopOrder:
    """How a container is brought to its end: `signal`, then SIGKILL after `grace_ms`."""

    signal: str
    grace_ms: int
    reason: str


@attrs.frozen(kw_only=True)
class WantedContainer:
    """One container that should exist on this node, or be brought to its end.

    Absence from a document never means "stop": a container leaves the document only after its
    exit is in the log.

    Attributes:
        started: An agent has reported it running, so it is never created a second time.
        origin: Id of the event that started its generation. A container of that name with another
            origin is another container, from before the store was restored from a backup.
        epoch: Of the store, when its generation was started. In a later one it is not made any
            more: since then it may have run, and ended, and been followed by another.
        stop: None while it should run.
        on_disconnect: `stop` or `keep`, as the spec says.
        checkpoint_path: Inside the container, with the application's id filled in; or empty.
        peers: The whole generation in rank order, this container included.
        seeds: What the generation may start from, in the order in which it is tried. None at all:
            nothing was ever saved, so it starts from nothing.
        oldest_kept: Generation and step of the oldest checkpoint that is kept: what is older may
            be removed by whoever reads this. Only told to rank 0; None while nothing was saved.
    """

    app_id: str
    app_name: str
    generation: int
    rank: int
    started: bool
    stop: StopOrder | None
    image: str
    command: tuple[str, ...]
    resume: bool
    env: Mapping[str, str]
    demand: Resources
    pids_max: int
    devices: tuple[str, ...]
    mounts: tuple[Mount, ...]
    checkpoint_path: str
    grace_ms: int
    port: int
    peers: tuple[Peer, ...]
    origin: str = ""
    epoch: int = 1
    on_disconnect: str = "stop"
    seeds: tuple[Seed, ...] = ()
    oldest_kept: tuple[int, int] | None = None

    @property
    def seed(self) -> Seed | None:
        """Return the checkpoint to start from; None when there is none, or none that is whole."""
        return next((seed for seed in self.seeds if not seed.rejected), None)

    @property
    def name(self) -> str:
        """Return the container's name, which is its host name too."""
        return container_name(self.app_id, self.generation, self.rank)

    @property
    def key(self) -> tuple[str, int, int]:
        """Return what identifies the container in the whole cluster."""
        return self.app_id, self.generation, self.rank


@attrs.frozen(kw_only=True)
class NodeDocument:
    """All containers of one node.

    Attributes:
        revision: The position of the log that this content first followed from. It never goes
            back within an epoch; an agent ignores an older document.
        epoch: Of the store, see `events.control.StoreEpochBegan`. An agent obeys only its own.
        tenure: Under which the node is to run these; an agent with another one ignores them.
    """

    node_id: str
    revision: int
    containers: tuple[WantedContainer, ...]
    tenure: str = ""
    epoch: int = 1

    @property
    def position(self) -> tuple[int, int]:
        """Return what orders documents: revisions begin again at a lower one with each epoch."""
        return self.epoch, self.revision


def same_origin(one: str, other: str) -> bool:
    """Return whether two containers of one name can be the same one.

    Containers made before origins were recorded have none: what is not known contradicts nothing.
    """
    return not one or not other or one == other


def container_name(app_id: str, generation: int, rank: int) -> str:
    """Return the name of a container; every generation has its own, since two may coexist."""
    return f"{app_id}-g{generation}-w{rank}"
