"""Where the commands `dorm` and `dorm-events` begin, before anything that takes long to import.

Nobody may get a traceback: not who presses Ctrl-C while Python still imports, nor who runs a
command without a stdin or stdout, nor whose disk is full behind a `>`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_STREAMS: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}


def dorm() -> None:
    """Run `dorm`."""
    with _ends_silently_by_ctrl_c():
        from dorm.cli.main import cli  # noqa: PLC0415 - takes half a second
    _run(cli, "dorm")


def dorm_events() -> None:
    """Run `dorm-events`."""
    with _ends_silently_by_ctrl_c():
        from dorm.cli.events import cli  # noqa: PLC0415 - takes half a second
    _run(cli, "dorm-events")


def _run(command: Callable[..., Any], name: str) -> None:
    _replace_closed_streams()
    try:
        command(prog_name=name)
    except OSError as error:  # Of a file or a service they are translated, so it is the output.
        print(f"Error: the output cannot be written: {error.strerror}", file=sys.stderr)  # noqa: T201 - click's streams may be what broke
        # Python writes what is left at its end, and would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _replace_closed_streams() -> None:
    """Let /dev/null stand for each standard stream that the caller has closed (`>&-`)."""
    for stream, mode in _STREAMS.items():
        if getattr(sys, stream) is None:
            setattr(sys, stream, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - stays open


@contextmanager
def _ends_silently_by_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C end the process as it ends any program, unless it is ignored (`nohup`)."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)
