"""What the engine, and the container, are told."""

import json

import attrs
import pytest

from dorm.agent.launch import environment, launch, membership, place_of
from dorm.engine.shape import Machine, host_options, words_of_init
from events.apps import Mount
from events.errors import Rejected
from tests.agent.desk import CONFIG, wanted

WORK = Mount(name="work", target="/scratch")
GPU = "GPU-5ca5e4b3"
FOUR_CPUS = Machine(cpus=4, cgroup_driver="cgroupfs")
GROUP = "/dorm/main/rack-1/t1/stop"


def test_a_container_knows_itself_and_its_peers() -> None:
    """This is the contract with every framework; a missing name stops trainings in the field."""
    env = environment(wanted(rank=1, devices=("fake-0",), resume=True, checkpoint_path="/w/a"))

    assert env == {
        "DORM_APP_ID": "a",
        "DORM_APP_NAME": "train",
        "DORM_GENERATION": "1",
        "DORM_ROLE": "worker",
        "DORM_RANK": "1",
        "DORM_WORLD_SIZE": "2",
        "DORM_HOSTS": "a-g1-w0,a-g1-w1",
        "DORM_PEERS": "a-g1-w0:20000,a-g1-w1:20001",
        "DORM_PORT": "20001",
        "DORM_MASTER_ADDR": "a-g1-w0",
        "DORM_MASTER_PORT": "20000",
        "DORM_CHECKPOINT_DIR": "/w/a",
        "DORM_RESUME": "1",
        "DORM_MEMBERSHIP_FILE": "/run/dorm/membership.json",
        "DORM_PROGRESS_FILE": "/run/dorm/progress.json",
        "DORM_STOP_GRACE_S": "10",
        "DORM_DEVICES": "fake-0",
        "NVIDIA_VISIBLE_DEVICES": "fake-0",
        "OMP_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "PYTHONUNBUFFERED": "1",
    }


def test_a_user_replaces_defaults_but_neither_identity_nor_isolation() -> None:
    """Asking for all GPUs must not give them."""
    env = environment(
        wanted(env={"OMP_NUM_THREADS": "9", "DORM_RANK": "7", "NVIDIA_VISIBLE_DEVICES": "all"})
    )

    assert env["OMP_NUM_THREADS"] == "9"
    assert env["DORM_RANK"] == "0"
    assert env["NVIDIA_VISIBLE_DEVICES"] == "void"


def test_the_membership_file_says_the_same() -> None:
    """For programs that would rather parse JSON than split variables."""
    said = json.loads(membership(wanted(rank=1)))

    assert (said["rank"], said["world_size"], said["port"]) == (1, 2, 20_001)
    assert [peer["host"] for peer in said["peers"]] == ["a-g1-w0", "a-g1-w1"]


def test_mounts_come_from_the_operators_catalogue() -> None:
    """No path of this machine ever comes from a spec; read-only stays read-only."""
    mounts = (WORK, Mount(name="data", target="/data"))

    binds = launch(wanted(mounts=mounts), CONFIG, revision=10).binds

    assert [(one.source, one.target, one.read_only) for one in binds] == [
        ("/srv/scratch", "/scratch", False),
        ("/srv/data", "/data", True),
        ("/state/run/a-g1-w0", "/run/dorm", False),
    ]


def test_checkpoints_lie_behind_the_innermost_mount() -> None:
    """One mount may lie in another."""
    mounts = (WORK, Mount(name="work", target="/scratch/deep"))
    saving = wanted(mounts=mounts, checkpoint_path="/scratch/deep/ckpt", generation=3)
    found = place_of(saving, CONFIG)

    assert found is not None
    assert (found.directory, found.below) == ("/srv/scratch/ckpt", "/srv/scratch")
    assert place_of(wanted(), CONFIG) is None
    bind = launch(saving, CONFIG, revision=10).binds[2]
    assert (bind.source, bind.target) == ("/srv/scratch/ckpt/.dorm/a/g3", "/scratch/deep/ckpt")
    assert not bind.read_only


@pytest.mark.parametrize(
    ("mounts", "path"),
    [
        ((), "/scratch/ckpt"),
        ((WORK,), "/workshop/ckpt"),
        ((WORK,), "/scratch/../etc"),
        ((attrs.evolve(WORK, read_only=True),), "/scratch/ckpt"),
        ((Mount(name="data", target="/scratch"),), "/scratch/ckpt"),
    ],
)
def test_a_checkpoint_path_that_would_not_last_is_refused(
    mounts: tuple[Mount, ...], path: str
) -> None:
    """A checkpoint inside the container would vanish with it, at the first resize."""
    with pytest.raises(Rejected, match="writable mount"):
        place_of(wanted(mounts=mounts, checkpoint_path=path), CONFIG)


def test_only_real_devices_are_asked_of_the_engine() -> None:
    """Pretended ones are for trying Dorm out on a machine without any."""
    fake = launch(wanted(devices=("fake-0", "FAKE-n1-1")), CONFIG, revision=10)
    real = launch(wanted(devices=(GPU,)), CONFIG, revision=10)

    assert "device_requests" not in host_options(fake, FOUR_CPUS)
    (request,) = host_options(real, FOUR_CPUS)["device_requests"]
    assert request["DeviceIDs"] == [GPU]


@pytest.mark.parametrize(
    ("driver", "expected"),
    [("cgroupfs", GROUP), ("systemd", "dorm-main-rack_1-t1-stop.slice")],
)
def test_the_group_is_named_as_the_cgroup_driver_wants_it(driver: str, expected: str) -> None:
    """An engine refuses the other form, and every container would be a start error."""
    order = attrs.evolve(launch(wanted(), CONFIG, revision=10), cgroup_parent=GROUP)
    machine = attrs.evolve(FOUR_CPUS, cgroup_driver=driver)

    assert host_options(order, machine)["cgroup_parent"] == expected


def test_a_container_that_could_not_be_fenced_is_not_made() -> None:
    """An engine without root would silently leave it outside of every group."""
    order = attrs.evolve(launch(wanted(), CONFIG, revision=10), cgroup_parent=GROUP)

    with pytest.raises(Rejected, match="fenced"):
        host_options(order, attrs.evolve(FOUR_CPUS, cgroup_driver="none"))
    unfenced = attrs.evolve(order, cgroup_parent="")
    assert "cgroup_parent" not in host_options(
        unfenced, attrs.evolve(FOUR_CPUS, cgroup_driver="none")
    )


def test_the_words_of_init_are_told_from_those_of_a_program() -> None:
    """Only init itself can know that the command was not executed."""
    said = b"[FATAL tini (7)] exec /no/such failed: No such file or directory\n"

    assert words_of_init(said) == "exec /no/such failed: No such file or directory"
    assert words_of_init(b"sh: 1: train: not found\n") == ""
