"""The commands as processes: what goes wrong around them is no crash."""

import signal
import subprocess
import sys
from typing import Final

import click
import pytest

from dorm.cli.session import fail, in_plain_words, until_ctrl_c

LIMIT_S: Final = 30
CTRL_C_AT_IMPORT: Final = """
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "dorm.cli.{command}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
from dorm.cli import entry
entry.{entry}()
"""


def run(script: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell, in which `dorm` is this Dorm."""
    program = f'dorm() {{ "{sys.executable}" -m dorm "$@"; }}; {script}'
    return subprocess.run(
        ["sh", "-c", program], check=False, capture_output=True, text=True, timeout=LIMIT_S
    )


@pytest.mark.parametrize("command", ["version", "-h"])
def test_a_full_disk_behind_the_output_is_told(command: str) -> None:
    """A script that keeps the output must not take half of it for all of it."""
    ended = run(f"dorm {command} >/dev/full")

    assert ended.returncode == 1
    assert ended.stderr == "Error: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_is_like_dev_null(closed: str) -> None:
    """Cron jobs and daemons run commands so."""
    ended = run(f"dorm version {closed}")

    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr


def test_a_closed_stdin_is_an_empty_file() -> None:
    """The user is told what is wrong with the file, as always."""
    ended = run("dorm submit - --set weight=2 <&-")

    assert ended.returncode == 2
    assert ended.stderr.startswith("Error: the spec has a fault:")


@pytest.mark.parametrize(("entry", "command"), [("dorm", "main"), ("dorm_events", "events")])
def test_ctrl_c_before_the_command_has_begun_is_silent(entry: str, command: str) -> None:
    """Python imports for half a second, and people change their minds."""
    program = CTRL_C_AT_IMPORT.format(entry=entry, command=command)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )

    assert ended.returncode == -signal.SIGINT
    assert ended.stderr == ""


def test_an_interrupted_command_has_not_succeeded() -> None:
    """`dorm submit app.yaml && echo submitted` must not claim what nobody knows."""
    with pytest.raises(click.exceptions.Exit) as ended, in_plain_words():
        raise KeyboardInterrupt

    assert ended.value.exit_code == 130


def test_ctrl_c_is_how_a_command_that_follows_ends_well() -> None:
    """`dorm ps -w` has no other end."""
    with in_plain_words(), until_ctrl_c():
        raise KeyboardInterrupt


def test_no_error_disturbs_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Errors repeat what users wrote, and what containers said."""
    with pytest.raises(click.exceptions.Exit):
        fail("\x1b[2J is no name\nWhat would help", 2)

    assert capsys.readouterr().err == "Error: \\x1b[2J is no name\nWhat would help\n"
