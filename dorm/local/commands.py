"""Programs of this machine, run to their end."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from events.errors import Unavailable

_LAST_WORDS: Final = 6


def run(
    command: Sequence[str],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Run a command and return what it printed on stdout.

    Raises:
        Unavailable: It is not there, ended with an error, or took too long.
    """
    name = " ".join(command[:3])
    try:
        done = subprocess.run(  # noqa: S603 - no shell; every caller writes its command out
            command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"`{name}` did not end within {timeout_s:.0f} s") from error
    except OSError as error:
        raise Unavailable(f"`{name}` cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        words = "\n".join((done.stderr or done.stdout).splitlines()[-_LAST_WORDS:])
        raise Unavailable(f"`{name}` ended with {done.returncode}:\n{words}")
    return done.stdout


def is_root() -> bool:
    """Return whether this process may install packages and start daemons."""
    return os.geteuid() == 0
