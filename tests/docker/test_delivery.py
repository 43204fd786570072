"""Who in a container gets its stop signal."""

import signal
from pathlib import Path

import pytest

from dorm.engine.delivery import receivers
from tests.docker.engines import Desk, bind, ended, started
from tests.docker.wrappers import process

SAVING = "trap 'echo saved >> /work/out; exit 0' TERM; touch /work/up; while :; do sleep 0.1; done"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a directory that a container without rights may write into."""
    tmp_path.chmod(0o777)
    return tmp_path


def of(proc: Path) -> tuple[int, ...]:
    """Return who gets SIGTERM below the container's init, which is 1."""
    return receivers(1, signal.SIGTERM, proc=proc)


def test_a_shell_that_does_not_trap_it_is_looked_through(tmp_path: Path) -> None:
    """It would die of the signal, and take the training with it."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "/bin/sh")
    process(tmp_path, 3, 2, "-bash")
    process(tmp_path, 4, 3, "python", catches=True)
    process(tmp_path, 5, 3, "tee")

    assert of(tmp_path) == (4,)


def test_what_is_below_one_who_handles_it_is_theirs(tmp_path: Path) -> None:
    """A launcher passes it on: its workers would get it twice, and loaders of data die of it."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "/usr/bin/python", catches=True)
    process(tmp_path, 3, 2, "/usr/bin/python", catches=True)

    assert of(tmp_path) == (2,)


def test_a_shell_that_traps_it_gets_it(tmp_path: Path) -> None:
    """Whoever wrote the trap has thought of what is below."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "/bin/bash", catches=True)
    process(tmp_path, 3, 2, "python", catches=True)

    assert of(tmp_path) == (2,)


def test_every_branch_of_a_shell_gets_it(tmp_path: Path) -> None:
    """Such as two trainings in the background, and the shell waiting for both."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "sh")
    process(tmp_path, 3, 2, "python", catches=True)
    process(tmp_path, 4, 2, "python", catches=True)
    process(tmp_path, 5, 2, "python", catches=True, state="Z")

    assert of(tmp_path) == (3, 4)


def test_an_init_of_the_image_is_looked_through(tmp_path: Path) -> None:
    """It would give the signal to the shell below, as Docker's own does."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "/usr/bin/dumb-init", catches=True)
    process(tmp_path, 3, 2, "sh")
    process(tmp_path, 4, 3, "python", catches=True)

    assert of(tmp_path) == (4,)


def test_a_training_that_does_not_handle_it_ends_by_it(tmp_path: Path) -> None:
    """A helper below it that does must not keep it running until its grace time is over."""
    process(tmp_path, 1, 0, "/sbin/docker-init")
    process(tmp_path, 2, 1, "python")
    process(tmp_path, 3, 2, "metrics-service", catches=True)

    assert of(tmp_path) == ()


@pytest.mark.docker
@pytest.mark.parametrize(
    "command",
    [
        f"sh -c '{SAVING.replace(chr(39), chr(34))}'; echo after >> /work/out",
        f"sh -c '{SAVING.replace(chr(39), chr(34))}' | cat",
        SAVING,
    ],
)
async def test_a_training_behind_a_shell_saves_its_work(
    desk: Desk, work: Path, command: str
) -> None:
    """Once, and with a normal end; by Docker's init alone the shell dies, and all with it."""
    engine = desk.engine()
    launch = desk.launch("a", "sh", "-c", command, binds=(bind(work, "/work"),))
    await started(engine, launch, work / "up")

    await engine.signal(launch.name, "SIGTERM")

    assert (await ended(engine)).exit_code == 0
    assert (work / "out").read_text().split()[0] == "saved"
    assert (work / "out").read_text().count("saved") == 1


@pytest.mark.docker
async def test_a_shell_and_its_command_that_handle_nothing_end_at_once(
    desk: Desk, work: Path
) -> None:
    """As before: there is nothing to save."""
    engine = desk.engine()
    command = ("sh", "-c", "touch /work/up; sleep 100; true")
    launch = desk.launch("a", *command, binds=(bind(work, "/work"),))
    await started(engine, launch, work / "up")

    await engine.signal(launch.name, "SIGTERM")

    assert (await ended(engine, within_s=5)).exit_code == 143
