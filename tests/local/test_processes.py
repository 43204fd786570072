"""Programs beside us end when they should, whatever they do."""

import sys
import time
from pathlib import Path

import pytest

from dorm.local import processes
from dorm.local.commands import run
from dorm.local.processes import Child
from events.errors import Unavailable


def _child(tmp_path: Path, code: str) -> Child:
    return Child("child", [sys.executable, "-c", code], log_path=tmp_path / "child.log")


def _wait_for_words(child: Child, words: str) -> None:
    ends_at = time.monotonic() + 10
    while words not in child.last_words():
        assert time.monotonic() < ends_at, child.last_words()
        time.sleep(0.02)


def test_a_child_that_ignores_sigterm_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that the demo starts may outlive it."""
    monkeypatch.setattr(processes, "STOP_S", 0.2)
    ignore = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); "
    child = _child(tmp_path, ignore + "time.sleep(60)")
    _wait_for_words(child, "on")

    child.stop()

    assert not child.running


def test_a_killed_child_can_be_started_again(tmp_path: Path) -> None:
    """The demo kills a master and an agent, and starts them again with the same command."""
    child = _child(tmp_path, "import time; print('hello', flush=True); time.sleep(60)")
    first = child.pid
    child.kill()
    assert not child.running

    child.restart()
    _wait_for_words(child, "hello")

    assert child.running
    assert child.pid != first
    child.stop()


def test_a_child_that_ended_leaves_its_last_words(tmp_path: Path) -> None:
    """They are the only thing that tells a user why a cluster did not start."""
    child = _child(tmp_path, "raise SystemExit('no such flag')")
    _wait_for_words(child, "no such flag")
    child.stop()


def test_a_command_that_fails_says_what_it_printed() -> None:
    """The words of apt and pip are the best explanation there is."""
    with pytest.raises(Unavailable, match=r"(?s)ended with 7.*disk full"):
        run(["sh", "-c", "echo disk full >&2; exit 7"], timeout_s=10)


def test_a_command_that_hangs_is_given_up() -> None:
    """A mirror that never answers must not hang the set-up for ever."""
    with pytest.raises(Unavailable, match="did not end within"):
        run(["sleep", "60"], timeout_s=0.2)


def test_a_command_that_is_not_there_is_named() -> None:
    """The user sees which program is missing."""
    with pytest.raises(Unavailable, match="no-such-program"):
        run(["no-such-program"], timeout_s=1)
