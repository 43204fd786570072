"""From a wanted container to what the engine is told, and what the container is told. Pure."""

from pathlib import PurePosixPath
from typing import Final

import attrs

from dorm import cgroups, labels
from dorm.agent.paths import Paths
from dorm.config import AgentConfig
from dorm.ports.checkpoints import Place
from dorm.ports.docker import Bind, Launch
from events.codec import to_json
from events.errors import Rejected
from reconcilers.documents import Peer, WantedContainer

RUN_DIR: Final = "/run/dorm"
_THREADS: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@attrs.frozen(kw_only=True)
class Membership:
    """The content of `membership.json`: who the container is, and who its peers are."""

    app_id: str
    app_name: str
    generation: int
    role: str
    rank: int
    world_size: int
    port: int
    resume: bool
    checkpoint_dir: str
    peers: tuple[Peer, ...]


def launch(
    wanted: WantedContainer,
    config: AgentConfig,
    *,
    revision: int,
    epoch: int = 1,
    tenure: str = "",
) -> Launch:
    """Return what the engine is told. Under a tenure, the container is made where it is fenced.

    Raises:
        Rejected: This node cannot run the container, such as for a mount that it does not have.
    """
    run_dir = Bind(source=Paths(config.state_dir).run_dir(wanted.name), target=RUN_DIR)
    return Launch(
        name=wanted.name,
        image=wanted.image,
        command=wanted.command,
        env=environment(wanted),
        labels={
            **labels.of_node(config.cluster.cluster, config.node_id),
            **labels.of_container(wanted.key, revision, epoch=epoch, origin=wanted.origin),
            **labels.of_tenure(tenure),
        },
        demand=wanted.demand,
        pids_max=wanted.pids_max,
        devices=wanted.devices,
        binds=(*_binds(wanted, config), *_checkpoint_bind(wanted, config), run_dir),
        network=config.network,
        stop_signal=wanted.stop.signal if wanted.stop else "SIGTERM",
        cgroup_parent=cgroups.of_containers(
            config.cluster.cluster, config.node_id, tenure, wanted.on_disconnect
        )
        if tenure
        else "",
    )


def environment(wanted: WantedContainer) -> dict[str, str]:
    """Return the container's environment.

    The user's variables replace our defaults, and ours replace the user's where Dorm or the
    isolation of devices depends on them. A `$DORM_...` in a command is not expanded: commands are
    executed as they stand, without a shell.
    """
    threads = str(max(1, wanted.demand.cpu_milli // 1000))
    first = wanted.peers[0]
    return {
        **dict.fromkeys(_THREADS, threads),
        "PYTHONUNBUFFERED": "1",
        **wanted.env,
        "DORM_APP_ID": wanted.app_id,
        "DORM_APP_NAME": wanted.app_name,
        "DORM_GENERATION": str(wanted.generation),
        "DORM_ROLE": "worker",
        "DORM_RANK": str(wanted.rank),
        "DORM_WORLD_SIZE": str(len(wanted.peers)),
        "DORM_HOSTS": ",".join(peer.host for peer in wanted.peers),
        "DORM_PEERS": ",".join(f"{peer.host}:{peer.port}" for peer in wanted.peers),
        "DORM_PORT": str(wanted.port),
        "DORM_MASTER_ADDR": first.host,
        "DORM_MASTER_PORT": str(first.port),
        "DORM_CHECKPOINT_DIR": wanted.checkpoint_path,
        "DORM_RESUME": "1" if wanted.resume else "0",
        "DORM_MEMBERSHIP_FILE": f"{RUN_DIR}/membership.json",
        "DORM_PROGRESS_FILE": f"{RUN_DIR}/progress.json",
        "DORM_STOP_GRACE_S": f"{wanted.grace_ms / 1000:g}",
        "DORM_DEVICES": ",".join(wanted.devices),
        # Without this the NVIDIA runtime shows every GPU to an image that asks for all of them.
        "NVIDIA_VISIBLE_DEVICES": ",".join(wanted.devices) or "void",
    }


def membership(wanted: WantedContainer) -> bytes:
    """Return the content of the membership file."""
    return to_json(
        Membership(
            app_id=wanted.app_id,
            app_name=wanted.app_name,
            generation=wanted.generation,
            role="worker",
            rank=wanted.rank,
            world_size=len(wanted.peers),
            port=wanted.port,
            resume=wanted.resume,
            checkpoint_dir=wanted.checkpoint_path,
            peers=wanted.peers,
        )
    )


def place_of(wanted: WantedContainer, config: AgentConfig) -> Place | None:
    """Return where the checkpoints lie on this machine; None for an app that saves nothing.

    Raises:
        Rejected: The path does not lead into a writable mount.
    """
    if not wanted.checkpoint_path:
        return None
    path = PurePosixPath(wanted.checkpoint_path)
    inside = [bind for bind in _binds(wanted, config) if path.is_relative_to(bind.target)]
    bind = max(inside, key=lambda one: len(PurePosixPath(one.target).parts), default=None)
    if bind is None or bind.read_only or ".." in path.parts:
        raise Rejected(
            "is not below a writable mount",
            field="checkpoint.path",
            value=wanted.checkpoint_path,
            hint="mount a directory of the operator's catalogue and put the path below its target",
        )
    directory = str(PurePosixPath(bind.source) / path.relative_to(bind.target))
    return Place(app_id=wanted.app_id, directory=directory, below=bind.source)


def _checkpoint_bind(wanted: WantedContainer, config: AgentConfig) -> tuple[Bind, ...]:
    """Return what lies over the checkpoint path: the directory of the generation, and no more.

    The mount around it would show older generations too, and what is kept of them.
    """
    place = place_of(wanted, config)
    if place is None:
        return ()
    return (Bind(source=place.work_dir(wanted.generation), target=wanted.checkpoint_path),)


def _binds(wanted: WantedContainer, config: AgentConfig) -> tuple[Bind, ...]:
    binds = []
    for mount in wanted.mounts:
        source = config.mounts.get(mount.name)
        if source is None:
            known = ", ".join(sorted(config.mounts)) or "none"
            raise Rejected(
                f"is not a mount of node {config.node_id}",
                field="mounts",
                value=mount.name,
                hint=f"this node has: {known}; its operator adds one in the agent's settings",
            )
        read_only = mount.read_only or source.read_only
        binds.append(Bind(source=source.path, target=mount.target, read_only=read_only))
    return tuple(binds)
