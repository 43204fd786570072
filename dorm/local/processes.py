"""Programs that run beside us: started, watched, ended by their pid."""

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

STOP_S: Final = 10.0
_LAST_WORDS: Final = 8


class Child:
    """A program with its output in a file. It can be killed, and started again."""

    def __init__(self, name: str, command: Sequence[str], *, log_path: Path) -> None:
        """Start it. Ctrl-C does not reach it: we end our children ourselves, in order."""
        self.name = name
        self._command, self._log_path = tuple(command), log_path
        self._process = self._spawn()

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End it without a word (SIGKILL)."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop it in place (SIGSTOP): it holds its connections and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Start it again. Only after it has ended."""
        assert not self.running, f"{self.name} runs, so it is not started again"
        self._process = self._spawn()

    def ask_to_stop(self) -> None:
        """Send SIGTERM and do not wait, so that several can end at once.

        A frozen one is let go on, so that it can.
        """
        self.thaw()
        self._process.terminate()

    def stop(self) -> None:
        """End it: SIGTERM, then SIGKILL when it does not end within `STOP_S`."""
        self.ask_to_stop()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def last_words(self) -> str:
        """Return the last lines of its output, for an error message."""
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-_LAST_WORDS:])

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._log_path.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - the command is ours, without a shell
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
