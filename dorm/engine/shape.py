"""What the engine is told, and what its answers mean. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from docker.types import DeviceRequest, LogConfig, Mount

from dorm import cgroups, labels
from dorm.ports.docker import ContainerSeen, Launch
from events.errors import Rejected
from reconcilers.exits import NOT_EXECUTED, ContainerState

LOG_OPTIONS: Final = {"max-size": "10m", "max-file": "3"}
_INIT_FAILED: Final = "[FATAL tini"
_REAL_GPU: Final = ("GPU-", "MIG-")
_STATES: Final[dict[str, ContainerState]] = {
    "created": "created",
    "running": "running",
    "paused": "running",
    "restarting": "running",
    "exited": "exited",
    "dead": "exited",
    "removing": "exited",
}

Answer = Mapping[str, Any]
"""A JSON object, as the engine's API gives it."""


@attrs.frozen(kw_only=True)
class Machine:
    """What the engine knows of its machine, and never changes while it runs.

    Attributes:
        cgroup_driver: `cgroupfs`, `systemd`, or `none` for an engine without root.
        root: Its directory, on its machine.
    """

    cpus: int
    cgroup_driver: str
    root: str = ""


def machine(about: Answer) -> Machine:
    """Return the part of the engine's `info` that the creation of containers needs."""
    return Machine(
        cpus=int(about["NCPU"]),
        cgroup_driver=str(about["CgroupDriver"]),
        root=str(about["DockerRootDir"]),
    )


def host_options(launch: Launch, machine: Machine) -> dict[str, Any]:
    """Return the arguments of `create_host_config`: limits, isolation, mounts, log bounds.

    A CPU demand above the machine's is cut, since the engine refuses it; no swap is given, since a
    training that swaps is slower than one that fails and runs elsewhere.

    Raises:
        Rejected: The container belongs into a group, and the engine has no cgroups.
    """
    nano_cpus = min(launch.demand.cpu_milli * 1_000_000, machine.cpus * 1_000_000_000)
    limits: dict[str, Any] = {"pids_limit": launch.pids_max, "shm_size": launch.shm_bytes}
    if nano_cpus:
        limits["nano_cpus"] = nano_cpus
    if launch.demand.memory_bytes:
        limits |= {
            "mem_limit": launch.demand.memory_bytes,
            "memswap_limit": launch.demand.memory_bytes,
        }
    if launch.cgroup_parent:
        limits["cgroup_parent"] = _cgroup_parent(launch.cgroup_parent, machine)
    gpus = [uuid for uuid in launch.devices if uuid.startswith(_REAL_GPU)]
    if gpus:
        request = DeviceRequest(driver="nvidia", device_ids=gpus, capabilities=[["gpu"]])
        limits["device_requests"] = [request]
    return limits | {
        "init": True,  # As process 1 a training would ignore signals that it does not handle.
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "restart_policy": {"Name": "no"},
        "network_mode": launch.network,
        "log_config": LogConfig(type=LogConfig.types.JSON, config=dict(LOG_OPTIONS)),
        "mounts": [
            Mount(target=one.target, source=one.source, type="bind", read_only=one.read_only)
            for one in launch.binds
        ],
    }


def _cgroup_parent(group: str, machine: Machine) -> str:
    match machine.cgroup_driver:
        case "cgroupfs":
            return group
        case "systemd":
            return cgroups.slice_of(group)
        case driver:
            raise Rejected(
                "puts containers into no cgroups, so they could not be fenced",
                field="cgroup driver",
                value=driver,
                hint="use an engine that runs as root, or a node without fencing",
            )


def container_options(launch: Launch) -> dict[str, Any]:
    """Return the arguments of `create_container`, without the host's part."""
    own_name = {} if launch.network == "host" else {"hostname": launch.name}
    return own_name | {
        "name": launch.name,
        "image": launch.image,
        "command": list(launch.command),
        "environment": dict(launch.env),
        "labels": dict(launch.labels),
        "stop_signal": launch.stop_signal,
    }


def may_not_have_begun(inspected: Answer) -> bool:
    """Return whether an ended container's code says that its command could not be executed."""
    state = inspected["State"]
    return state["Status"] == "exited" and state["ExitCode"] in NOT_EXECUTED


def words_of_init(output: bytes) -> str:
    """Return why init could not execute the command; nothing when it could.

    The engine starts init without fault, so a wrong command looks like a program that ends. Only
    init's own line tells it from a script whose last command was not found.
    """
    line = output.decode(errors="replace").strip()
    return line.partition("] ")[2] if line.startswith(_INIT_FAILED) else ""


def seen(listed: Answer, inspected: Answer | None, *, error: str = "") -> ContainerSeen:
    """Return one of our containers from its line in the list, and its details if it does not run.

    Raises:
        KeyError, ValueError: A label of ours is missing or damaged.
    """
    marks = listed["Labels"]
    state: Answer = inspected["State"] if inspected else {}
    return ContainerSeen(
        name=name_of(listed),
        app_id=marks[labels.APP],
        generation=int(marks[labels.GENERATION]),
        rank=int(marks[labels.RANK]),
        revision=int(marks[labels.REVISION]),
        epoch=int(marks.get(labels.EPOCH, 1)),  # older containers have neither
        origin=marks.get(labels.ORIGIN, ""),
        state=_STATES[state.get("Status", listed["State"])],
        exit_code=int(state.get("ExitCode", 0)),
        oom_killed=bool(state.get("OOMKilled", False)),
        error=error or str(state.get("Error", "")),
        tenure=marks.get(labels.TENURE, ""),
    )


def name_of(listed: Answer) -> str:
    """Return the container's name from its line in the list."""
    return str(listed["Names"][0]).removeprefix("/")
