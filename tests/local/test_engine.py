"""Which Docker engine is used, and that only our own is ever stopped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dorm.local.engine import PrivateEngine, engine, install_engine
from events.errors import Unavailable
from tests.local.programs import program


def test_a_named_engine_that_is_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another engine than the named one would have other images and other containers."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")

    with pytest.raises(Unavailable, match=r"DOCKER_HOST=unix:///nowhere/docker\.sock"), engine():
        pass


def test_without_root_the_user_is_told_how_to_get_docker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set-up installs nothing for a user who may not; it says what to do."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    said: list[str] = []

    install_engine(say=said.append)

    assert len(said) == 1
    assert "apt-get install docker.io" in said[0]


def test_a_failed_installation_does_not_end_the_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation, for one, is of use without Docker, too."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program(tmp_path / "apt-get", "echo 'E: no archive' >&2; exit 100")
    said: list[str] = []

    install_engine(say=said.append)

    assert "E: no archive" in said[-1]
    assert "DOCKER_HOST=" in said[-1]


def test_an_engine_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container without privileges, for one, can install an engine, but not run it."""
    program(tmp_path / "dockerd", "echo 'failed to mount overlay'; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    private = PrivateEngine.of(tmp_path / "home")

    with pytest.raises(Unavailable, match="last words:\nfailed to mount overlay"):
        private.start(lambda _: None)

    private.stop()


def test_a_pid_that_another_program_has_now_is_not_ours(tmp_path: Path) -> None:
    """After a crash the pid file stays, and the number may go to any process of the machine."""
    private = PrivateEngine(home=tmp_path / "home", run_dir=tmp_path / "run")
    private.run_dir.mkdir()
    (private.run_dir / "docker.pid").write_text(str(os.getpid()))

    private.stop()  # would be the end of this test run

    assert private.pid() is None


def test_whoever_lets_go_last_stops_the_engine(tmp_path: Path) -> None:
    """A demo that ends must not take the engine from a test run beside it."""
    home, run_dir = tmp_path / "home", tmp_path / "run"
    home.mkdir()
    run_dir.mkdir()
    private = PrivateEngine(home=home, run_dir=run_dir)
    command = [sys.executable, "-c", "import time; time.sleep(60)", str(home)]
    with subprocess.Popen(command) as process:
        (run_dir / "docker.pid").write_text(str(process.pid))
        while private.pid() is None:  # a fresh process has no command line for an instant
            assert process.poll() is None
        with private.in_use():
            with private.in_use():
                pass
            assert process.poll() is None, "stopped while it was in use"
        assert process.poll() is not None
