"""`dorm master` and `dorm agent`: options to a config, and the daemon run."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import click

from dorm import logs
from dorm.cli import parts
from dorm.cli.session import ETCD_HINT, in_plain_words
from dorm.config import AgentConfig, ClusterConfig, MasterConfig, PlannerConfig, SpaceConfig
from dorm.spec.units import parse_cpu, parse_memory
from events.errors import Rejected
from events.nodes import Device
from events.units import Resources

FENCE_MARGIN_S: Final = 1.0
"""By how much a lease must outlast the right to run: else a right could be attested anew, in a
short election, after masters had taken it away."""

_FAKE_GPU_BYTES: Final = 16 << 30
_QUOTA_BYTES_MIN: Final = 8 << 20
_PLAN_BYTES_MIN: Final = 512 << 20  # Python, numpy and the solver map a quarter of that


def _daemon_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what both daemons have."""
    for option in (
        click.option("--log-json", is_flag=True, help="Log lines as JSON, for machines."),
        click.option(
            "--etcd",
            default="127.0.0.1:2379",
            show_default=True,
            metavar="H:P,H:P",
            help="Members of etcd, as many as there are.",
        ),
        click.option("--cluster", default="dorm", show_default=True, help="Name of the cluster."),
    ):
        command = option(command)
    return command


@click.command()
@click.option("--name", required=True, help="Of this master; every master has another.")
@click.option("--listen", default="127.0.0.1:7070", show_default=True, metavar="HOST:PORT")
@click.option(
    "--url",
    metavar="URL",
    help="Where agents reach this master.  [default: http:// and the address it listens on]",
)
@click.option(
    "--lease-ttl",
    type=click.FloatRange(1, 60),
    default=5.0,
    show_default=True,
    help="Seconds that a silent leader stays in office.",
)
@click.option(
    "--segment-events",
    type=click.IntRange(10, 100_000),
    default=5_000,
    show_default=True,
    help="Events after which a segment of the log is closed.",
)
@click.option(
    "--plan-memory",
    default="4GiB",
    show_default=True,
    help="Address space of the child process that works out layouts.",
)
@click.option(
    "--plan-cpu",
    type=click.IntRange(1, 3600),
    default=120,
    show_default=True,
    help="Seconds of CPU time for one layout; past that a greedy one is decided.",
)
@click.option(
    "--archive",
    default="",
    metavar="DIR",
    help="Move the oldest history from etcd into files here; the same DIR for every master, on "
    "storage that is backed up.  [default: keep all of it in etcd]",
)
@click.option(
    "--retain-events",
    type=click.IntRange(0),
    default=200_000,
    show_default=True,
    help="With --archive: as much history as stays in etcd.",
)
@click.option(
    "--etcd-quota",
    default="2GiB",
    show_default=True,
    help="What etcd was given with --quota-backend-bytes; etcd 3.6 tells it by itself.",
)
@_daemon_options
def master(  # noqa: PLR0913 - one for each option
    *,
    name: str,
    listen: str,
    url: str | None,
    lease_ttl: float,
    segment_events: int,
    plan_memory: str,
    plan_cpu: int,
    archive: str,
    retain_events: int,
    etcd_quota: str,
    cluster: str,
    etcd: str,
    log_json: bool,
) -> None:
    """Run a master in the foreground: it serves the API, and decides while it leads.

    Run two or three, each on a machine of its own; one leads, the others take over.

    \b
    Example:
      dorm master --name m1 --etcd 10.0.0.1:2379,10.0.0.2:2379 --listen 10.0.0.1:7070
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from dorm.master.run import run_master  # noqa: PLC0415 - clients need not load it

    logs.set_up(json=log_json)
    with in_plain_words(no_answer_hint=ETCD_HINT):
        host, port = parts.host_and_port(listen, option="--listen")
        config = MasterConfig(
            name=parts.name(name, option="--name"),
            cluster=_cluster(cluster, etcd),
            url=(url or "").rstrip("/"),
            listen_host=host,
            listen_port=port,
            lease_ttl_s=lease_ttl,
            segment_events_max=segment_events,
            planner=planner_config(plan_memory, cpu_s_max=plan_cpu),
            space=space_config(archive, retain_events=retain_events, quota=etcd_quota),
        )
        code = run_master(config)
    raise click.exceptions.Exit(code)


def planner_config(memory: str, *, cpu_s_max: int) -> PlannerConfig:
    """Return the limits that the options of `dorm master` describe.

    Raises:
        Rejected: Nothing could be planned within them.
    """
    memory_bytes = parse_memory(memory, field="--plan-memory")
    if memory_bytes < _PLAN_BYTES_MIN:
        raise Rejected(
            "is less than the solver needs to start",
            field="--plan-memory",
            value=memory,
            hint=f"write {_PLAN_BYTES_MIN >> 20}MiB or more",
        )
    return PlannerConfig(memory_bytes_max=memory_bytes, cpu_s_max=cpu_s_max)


def space_config(archive: str, *, retain_events: int, quota: str) -> SpaceConfig:
    """Return what the options of `dorm master` say about room in etcd.

    Raises:
        Rejected: An option is not what it should be.
    """
    quota_bytes = parse_memory(quota, field="--etcd-quota")
    if quota_bytes < _QUOTA_BYTES_MIN:
        raise Rejected(
            "is less than etcd can work with",
            field="--etcd-quota",
            value=quota,
            hint="write what etcd was given with --quota-backend-bytes, such as 2GiB",
        )
    return SpaceConfig(
        archive=str(Path(archive).absolute()) if archive else "",
        retain_events=retain_events,
        quota_bytes=quota_bytes,
    )


@click.command()
@click.option("--node", required=True, help="Name of this machine in the cluster.")
@click.option("--listen", default="127.0.0.1:0", show_default=True, metavar="HOST:PORT")
@click.option("--state-dir", default="/var/lib/dorm", show_default=True, metavar="DIR")
@click.option("--cpus", help="Cpus that containers may use.  [default: all of them]")
@click.option("--memory", help="Memory that containers may use.  [default: nine tenths of it]")
@click.option("--fake-gpus", type=click.IntRange(0, 64), default=0, help="Pretend to have GPUs.")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="May be given several times.")
@click.option("--docker", default="", metavar="URL", help="Of the engine.  [default: Docker's own]")
@click.option(
    "--network",
    default="dorm",
    show_default=True,
    help="A Docker network that spans the nodes, or host.",
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    help="By which containers on other nodes reach this machine.",
)
@click.option(
    "--lease-ttl",
    type=click.FloatRange(4, 60),
    default=6.0,
    show_default=True,
    help="Seconds that a silent node stays in the cluster; an agent restarts within them.",
)
@click.option(
    "--fence",
    type=click.FloatRange(3, 60),
    default=4.0,
    show_default=True,
    help="Seconds from the last sign of life to the freezing of containers.",
)
@click.option(
    "--fencing",
    type=click.Choice(["auto", "required", "off"]),
    default="auto",
    show_default=True,
    help="Whether a warden freezes containers when the node has lost contact; it needs root.",
)
@click.option(
    "--run-dir",
    metavar="DIR",
    help="What agent and warden share, on a tmpfs.  [default: /run/dorm/CLUSTER/NODE]",
)
@click.option(
    "--disk-min",
    default="512MiB",
    show_default=True,
    help="With less room on the disk of --state-dir, or of Docker, no new container is made.",
)
@click.option(
    "--mount",
    "mounts",
    multiple=True,
    metavar="NAME=PATH[:ro]",
    help="A directory that specs may mount by this name. May be given several times.",
)
@_daemon_options
def agent(*, log_json: bool, **options: Any) -> None:  # noqa: ANN401 - click's own
    """Run the agent of this machine in the foreground: it runs containers, and reports.

    Containers outlive the agent: a new one finds them by their labels and goes on.

    \b
    Example:
      dorm agent --node n1 --etcd 10.0.0.1:2379 --address 10.0.0.5 --listen 10.0.0.5:7071 \\
        --mount data=/srv/data:ro --mount ckpt=/srv/ckpt
    """  # noqa: D301 - \b is click's mark for text that keeps its lines
    from dorm.agent.run import run_agent  # noqa: PLC0415 - clients need not load it

    logs.set_up(json=log_json)
    with in_plain_words(no_answer_hint=ETCD_HINT):
        code = run_agent(agent_config(**options))
    raise click.exceptions.Exit(code)


def agent_config(  # noqa: PLR0913 - one for each option
    *,
    node: str,
    cluster: str,
    etcd: str,
    listen: str,
    state_dir: str,
    cpus: str | None,
    memory: str | None,
    fake_gpus: int,
    labels: tuple[str, ...],
    docker: str,
    network: str,
    address: str,
    fencing: Literal["auto", "required", "off"],
    run_dir: str | None,
    lease_ttl: float,
    fence: float,
    mounts: tuple[str, ...],
    disk_min: str,
) -> AgentConfig:
    """Return the config that the options of `dorm agent` describe.

    Raises:
        Rejected: An option is not what it should be.
    """
    if fence > lease_ttl - FENCE_MARGIN_S:
        raise Rejected(
            "is longer than a silent node stays in the cluster",
            field="--fence",
            value=f"{fence:g}",
            hint=f"give at most {lease_ttl - FENCE_MARGIN_S:g}, or a longer --lease-ttl",
        )
    host, port = parts.host_and_port(listen, option="--listen")
    node_id = parts.name(node, option="--node")
    devices = tuple(
        Device(uuid=f"FAKE-{node_id}-{index}", model="fake", memory_bytes=_FAKE_GPU_BYTES)
        for index in range(fake_gpus)
    )
    return AgentConfig(
        node_id=node_id,
        cluster=_cluster(cluster, etcd),
        capacity=Resources(
            cpu_milli=parse_cpu(cpus, field="--cpus") if cpus else (os.cpu_count() or 1) * 1000,
            memory_bytes=parse_memory(memory, field="--memory") if memory else _most_memory(),
            gpu_count=fake_gpus,
        ),
        devices=devices,
        labels=dict(parts.label(label) for label in labels),
        address=address,
        listen_host=host,
        listen_port=port,
        docker_url=docker,
        network=network,
        fencing=fencing,
        lease_ttl_s=lease_ttl,
        fence_s=fence,
        run_dir=str(Path(run_dir).absolute()) if run_dir else "",
        mounts=dict(parts.mount(mount) for mount in mounts),
        state_dir=str(Path(state_dir).absolute()),
        disk_bytes_min=parse_memory(disk_min, field="--disk-min"),
    )


def _cluster(cluster: str, etcd: str) -> ClusterConfig:
    return ClusterConfig(
        cluster=parts.name(cluster, option="--cluster"), etcd=parts.endpoints(etcd)
    )


def _most_memory() -> int:
    """Return nine tenths of the machine's memory; the rest is for the system and the agent."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10 * 9
