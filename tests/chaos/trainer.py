"""A tiny elastic training, run inside containers with nothing but Python's own library.

Rank 0 counts steps, faster with more ranks, and saves the count: a data file, then
`checkpoint.json`, which names it and is replaced in one step. Every rank writes down each moment at
which it runs, by CLOCK_BOOTTIME, into a file of its own: that is what the verdict rests on.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from types import FrameType

TICK_S = 0.1
SAVE_EVERY_S = 1.0


class Witness:
    """The diary of this container: one line a moment, written before anything follows from it."""

    def __init__(self, folder: Path) -> None:
        name = f"g{os.environ['DORM_GENERATION']}-w{os.environ['DORM_RANK']}-{os.urandom(4).hex()}"
        folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._file = os.open(folder / f"{name}.jsonl", flags, 0o644)

    def note(self, what: str, step: int) -> None:
        """Write down a moment."""
        line = {"at": time.clock_gettime(time.CLOCK_BOOTTIME), "what": what, "step": step}
        os.write(self._file, json.dumps(line).encode() + b"\n")


class Checkpoints:
    """The newest complete checkpoint of a directory."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._manifest = folder, folder / "checkpoint.json"

    def newest(self) -> int:
        """Return the saved step; 0 for a training that begins."""
        if not self._manifest.exists():
            return 0
        manifest = json.loads(self._manifest.read_bytes())
        raw = (self._folder / manifest["file"]).read_bytes()
        if hashlib.sha256(raw).hexdigest() != manifest["sha256"]:
            sys.exit(f"{manifest['file']} is damaged")
        return int(raw)

    def save(self, step: int) -> None:
        """Write a checkpoint that counts from the last line of this method on."""
        raw = str(step).encode()
        file = f"model-{step}-{os.environ['DORM_GENERATION']}.bin"
        self._replace(self._folder / file, raw)
        manifest = {"step": step, "file": file, "sha256": hashlib.sha256(raw).hexdigest()}
        self._replace(self._manifest, json.dumps(manifest).encode())

    def _replace(self, path: Path, raw: bytes) -> None:
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_bytes(raw)
        temporary.replace(path)


def main() -> int:
    """Train until the steps are done, or until the signal to stop."""
    asked: list[int] = []

    def ask(number: int, _: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if os.environ.get("CHAOS_DEAF") else ask)
    app_folder = Path("/witness") / os.environ["DORM_APP_ID"]
    witness, done = Witness(app_folder), app_folder / "done"
    first = os.environ["DORM_RANK"] == "0"
    checkpoints = Checkpoints(Path(os.environ["DORM_CHECKPOINT_DIR"]))
    size, steps = int(os.environ["DORM_WORLD_SIZE"]), int(os.environ["CHAOS_STEPS"])
    crash = float(os.environ.get("CHAOS_CRASH", "0")) * TICK_S
    step = checkpoints.newest() if first else 0
    witness.note("began", step)
    saved_at = time.monotonic()
    while not asked and not done.exists() and step < steps:
        time.sleep(TICK_S)
        if random.random() < crash:
            witness.note("crashed", step)
            return 1
        if first:
            step += size
        witness.note("ran", step)
        if first and time.monotonic() - saved_at > SAVE_EVERY_S:
            checkpoints.save(step)
            witness.note("saved", step)
            saved_at = time.monotonic()
    if first:
        checkpoints.save(step)
        witness.note("saved", step)
        if step >= steps:
            done.touch()
    witness.note("ended", step)
    return 0


if __name__ == "__main__":
    sys.exit(main())
