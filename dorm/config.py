"""What a process is told when it starts. Units stand in the names."""

from collections.abc import Mapping
from typing import Literal

import attrs

from dorm.space.levels import QUOTA_BYTES
from events.nodes import Device
from events.units import Resources


@attrs.frozen(kw_only=True)
class ClusterConfig:
    """Which cluster, and where its etcd is.

    Attributes:
        etcd: Endpoints as `host:port`.
    """

    cluster: str = "dorm"
    etcd: tuple[str, ...] = ("127.0.0.1:2379",)


@attrs.frozen(kw_only=True)
class PlannerConfig:
    """The child process in which a master has layouts worked out.

    Past a limit the child is ended, and a greedy layout is decided instead, which says so.

    Attributes:
        memory_bytes_max: Address space of the child.
        cpu_s_max: CPU time of one plan. Counted by the kernel, so a busy machine changes nothing.
        wall_s_max: How long one plan may take on the clock: for a child that does nothing at all.
        niceness: Added to the master's own: planning makes way for leases and users.
    """

    memory_bytes_max: int = 4 << 30
    cpu_s_max: int = 120
    wall_s_max: float = 900.0
    niceness: int = 5


@attrs.frozen(kw_only=True)
class SpaceConfig:
    """How a master keeps room in etcd (docs/operations-space.md).

    Attributes:
        archive: Directory for segments that leave etcd, the same for all masters; empty: none
            ever leaves.
        retain_events: Segments leave while the others hold at least so many events.
        quota_bytes: What etcd was given with `--quota-backend-bytes`, unless it tells (since 3.6).
        compact_every_s: Between two compactions.
        history_s: How long old versions of keys are kept for watches that hang.
    """

    archive: str = ""
    retain_events: int = 200_000
    quota_bytes: int = QUOTA_BYTES
    compact_every_s: float = 60.0
    history_s: float = 300.0


@attrs.frozen(kw_only=True)
class MasterConfig:
    """One master.

    Attributes:
        lease_ttl_s: How long the leader may be silent before another takes over.
        node_grace_s: How long a node's lease may be gone before the node counts as lost.
        status_s: Between two looks at what agents say of the present; nothing is decided by it.
        store_look_s: Between two looks whether the store was restored from a backup.
        url: Where agents reach this master.
        segment_events_max: A segment of the log is closed once it holds this many events.
        snapshot_every: Events between two snapshots of the state.
        planner: Limits of the child that works out layouts.
        space: How room is kept in etcd.
    """

    name: str
    cluster: ClusterConfig
    url: str = ""
    listen_host: str = "127.0.0.1"
    listen_port: int = 7070
    lease_ttl_s: float = 5.0
    node_grace_s: float = 1.0
    status_s: float = 1.0
    store_look_s: float = 1.0
    segment_events_max: int = 5_000
    snapshot_every: int = 1_000
    planner: PlannerConfig = PlannerConfig()
    space: SpaceConfig = SpaceConfig()


@attrs.frozen(kw_only=True)
class MountSource:
    """One entry of the operator's catalogue: a directory of this machine that specs may name."""

    path: str
    read_only: bool = False


@attrs.frozen(kw_only=True)
class AgentConfig:
    """One agent.

    Attributes:
        capacity: What containers may use of this machine.
        docker_url: Of the engine; empty for Docker's own default.
        network: Name of a user-defined Docker network that spans the nodes, or `host`.
        mounts: The catalogue, by name.
        state_dir: Where the agent keeps its journal, membership files and saved logs.
        lease_ttl_s: How long the agent may be silent before its node key goes.
        fence_s: For how long one beat extends the right to run containers.
        beat_s: Between two of them.
        store_look_s: Between two looks whether the store was restored from a backup.
        fencing: Whether a warden guards the node: `required`; `off`; or `auto`, if it can be had.
        run_dir: What agent and warden share, on a tmpfs; empty for the usual place.
        relist_s: How often Docker is listed without any wake-up.
        disk_bytes_min: With less room than this on the disk of `state_dir`, or of Docker, no
            container is made.
        checkpoint_look_s: How often running trainings are looked at for a new checkpoint.
        checkpoint_every_s: Between two checkpoints of one training that are kept while it runs.
        seed_wait_s: How long a node waits for the directory that the node of rank 0 makes.
    """

    node_id: str
    cluster: ClusterConfig
    capacity: Resources
    devices: tuple[Device, ...] = ()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    address: str = "127.0.0.1"
    listen_host: str = "127.0.0.1"
    listen_port: int = 0
    docker_url: str = ""
    network: str = "dorm"
    mounts: Mapping[str, MountSource] = attrs.field(factory=dict)
    state_dir: str = "/var/lib/dorm"
    lease_ttl_s: float = 6.0
    fence_s: float = 4.0
    beat_s: float = 1.0
    store_look_s: float = 2.0
    fencing: Literal["auto", "required", "off"] = "auto"
    run_dir: str = ""
    relist_s: float = 5.0
    disk_bytes_min: int = 512 << 20
    checkpoint_look_s: float = 5.0
    checkpoint_every_s: float = 20.0
    seed_wait_s: float = 60.0
