"""Options of the daemons to configs."""

from typing import Any

import pytest

from dorm.cli import parts
from dorm.cli.daemons import agent_config, planner_config
from dorm.config import ClusterConfig, MountSource, PlannerConfig
from events.errors import Rejected
from events.units import Resources

OPTIONS: dict[str, Any] = {
    "node": "n1",
    "cluster": "lab",
    "etcd": "10.0.0.1:2379, 10.0.0.2:2379",
    "listen": "10.0.0.5:7071",
    "state_dir": "/var/lib/dorm",
    "cpus": "2.5",
    "memory": "2GiB",
    "fake_gpus": 2,
    "labels": ("rack=r1", "zone=a=b"),
    "docker": "",
    "network": "dorm",
    "address": "10.0.0.5",
    "fencing": "required",
    "run_dir": "/run/lab",
    "lease_ttl": 9.0,
    "fence": 6.0,
    "mounts": ("data=/srv/data:ro", "ckpt=/srv/ckpt"),
    "disk_min": "2GiB",
}


def test_every_option_of_an_agent_arrives() -> None:
    """An option that is accepted and then forgotten is worse than one that is refused."""
    config = agent_config(**OPTIONS)

    assert config.cluster == ClusterConfig(cluster="lab", etcd=("10.0.0.1:2379", "10.0.0.2:2379"))
    assert config.capacity == Resources(cpu_milli=2500, memory_bytes=2 << 30, gpu_count=2)
    assert [device.uuid for device in config.devices] == ["FAKE-n1-0", "FAKE-n1-1"]
    assert config.labels == {"rack": "r1", "zone": "a=b"}
    assert (config.listen_host, config.listen_port) == ("10.0.0.5", 7071)
    assert config.disk_bytes_min == 2 << 30
    assert config.mounts == {
        "data": MountSource(path="/srv/data", read_only=True),
        "ckpt": MountSource(path="/srv/ckpt"),
    }


def test_an_agent_offers_the_machine_unless_told_otherwise() -> None:
    """All cpus, and most of the memory: the system needs the rest."""
    config = agent_config(**{**OPTIONS, "cpus": None, "memory": None})

    assert config.capacity.cpu_milli >= 1000
    assert config.capacity.memory_bytes > 0


@pytest.mark.parametrize(
    ("option", "value", "field"),
    [
        ("node", "My Node", "--node"),
        ("node", "n/1", "--node"),
        ("cluster", "", "--cluster"),
        ("etcd", "", "--etcd"),
        ("etcd", "host", "--etcd"),
        ("listen", "7070", "--listen"),
        ("listen", "host:99999", "--listen"),
        ("cpus", "many", "--cpus"),
        ("memory", "2", "--memory"),
        ("labels", ("rack",), "--label"),
        ("mounts", ("data=relative",), "--mount"),
        ("mounts", ("data=/a:rx",), "--mount"),
        ("mounts", ("data=/a/../b",), "--mount"),
        ("mounts", ("/a",), "--mount"),
        ("fence", 8.5, "--fence"),
    ],
)
def test_a_wrong_option_is_named(option: str, value: object, field: str) -> None:
    """An operator has a dozen of them on one line."""
    with pytest.raises(Rejected) as caught:
        agent_config(**{**OPTIONS, option: value})

    assert caught.value.field == field


def test_the_limits_of_the_planner_arrive_and_must_leave_it_room() -> None:
    """A child that cannot even start would fall back to the greedy policy for ever."""
    assert planner_config("2GiB", cpu_s_max=60) == PlannerConfig(
        memory_bytes_max=2 << 30, cpu_s_max=60
    )
    with pytest.raises(Rejected, match="--plan-memory: 10MiB is less than the solver needs"):
        planner_config("10MiB", cpu_s_max=60)


def test_ipv6_addresses_have_brackets() -> None:
    """Their colons are no ports."""
    assert parts.host_and_port("[::1]:7070", option="--listen") == ("::1", 7070)


@pytest.mark.parametrize(
    "address", ["7070", ":7070", "h:", "h:x", "h:65536", "h:²", "h:" + "1" * 5000, "é:1", "a b:1"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """The libraries behind would answer with tracebacks."""
    with pytest.raises(Rejected, match="must be HOST:PORT"):
        parts.host_and_port(address, option="--etcd")
