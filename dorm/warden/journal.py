"""What the warden did, so that the agent can tell of it when it is back: the newest deeds only."""

import contextlib
import json
import time
from pathlib import Path
from typing import Final, Literal

import attrs

from dorm.warden import machine

KEPT_MIN: Final = 200
KEPT_MAX: Final = 2 * KEPT_MIN

Did = Literal["began", "froze", "thawed", "killed", "ended"]


@attrs.frozen(kw_only=True)
class Deed:
    """One thing that a warden did.

    Attributes:
        number: Grows from deed to deed, also from one warden to the next, with gaps.
        at_s: Seconds since the machine's boot.
        at_ms: UTC epoch milliseconds, for people.
        tenure: Of the group; empty when it was about none, like `on_disconnect`.
        why: What the permit said of the group, or why a warden ended.
    """

    number: int
    at_s: float
    at_ms: int
    did: Did
    tenure: str = ""
    on_disconnect: str = ""
    why: str = ""


class Journal:
    """The journal of one warden, after those before it in the same directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = [_line(deed) for deed in read(path)]
        with contextlib.suppress(OSError):  # It guards without a journal rather than not at all.
            self._write_all()

    def note(self, did: Did, *, tenure: str = "", on_disconnect: str = "", why: str = "") -> None:
        """Note a deed.

        Raises:
            OSError: It is not noted, and stays undone for nobody: notes come after deeds.
        """
        newest = _deed(self._lines[-1]).number if self._lines else 0
        at_s = machine.now_s()
        deed = Deed(
            number=max(newest + 1, int(at_s * 1000)),  # Grows even when the file was lost.
            at_s=round(at_s, 3),
            at_ms=time.time_ns() // 1_000_000,
            did=did,
            tenure=tenure,
            on_disconnect=on_disconnect,
            why=why,
        )
        self._lines.append(_line(deed))
        if len(self._lines) > KEPT_MAX:
            self._write_all()
        else:
            with self._path.open("a") as file:
                file.write(self._lines[-1] + "\n")

    def _write_all(self) -> None:
        self._lines = self._lines[-KEPT_MIN:]
        machine.replace(self._path, "".join(f"{line}\n" for line in self._lines).encode())


def read(path: Path, *, after: int = 0) -> tuple[Deed, ...]:
    """Return the deeds with a number above `after`, oldest first; what is damaged is left out."""
    deeds = []
    for line in (machine.read_own(path) or b"").decode(errors="replace").splitlines():
        try:
            deed = _deed(line)
        except (ValueError, TypeError):
            continue  # Its writer died in the middle of it.
        if deed.number > after:
            deeds.append(deed)
    return tuple(deeds)


def _line(deed: Deed) -> str:
    return json.dumps(attrs.asdict(deed))


def _deed(line: str) -> Deed:
    return Deed(**json.loads(line))
