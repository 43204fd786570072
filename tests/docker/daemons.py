"""A Docker engine of a test's own, which it may stop, kill and freeze."""

import os
import re
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from dorm.local.docker_api import DockerApi
from dorm.local.engine import PrivateEngine

IMAGE: Final = "dorm-tiny:1"
_PROGRAMS: Final = ("/bin/sh", "/bin/sleep", "/bin/cat")
_GONE_S: Final = 20.0


class Daemon:
    """One dockerd, and the image `IMAGE` in it: a shell and next to nothing else."""

    def __init__(self, home: Path, *, live_restore: bool) -> None:
        # Its rules for the firewall would be in the way of other engines, so it makes none.
        flags = ("--iptables=false", *(("--live-restore",) if live_restore else ()))
        home.mkdir()
        run_dir = Path("/run") / f"dorm-test-{uuid4().hex[:8]}"
        self._engine = PrivateEngine(home=home, run_dir=run_dir, flags=flags)

    @property
    def url(self) -> str:
        """Return its address."""
        return self._engine.url

    def start(self) -> None:
        """Start it, or a new one with the same data."""
        self._engine.start(lambda _: None)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        pid = self._engine.pid()
        assert pid is not None
        os.kill(pid, number)

    def end(self, number: signal.Signals) -> None:
        """Send it a signal that ends it, and wait until it is gone."""
        pid = self._engine.pid()
        assert pid is not None
        # It has a containerd of its own, which ends with it. While that can be seen, also as
        # a zombie, the next engine would take it for its own.
        containerd = (self._engine.run_dir / "exec/containerd/containerd.pid").read_text()
        os.kill(pid, number)
        limit = time.monotonic() + _GONE_S
        while os.waitpid(pid, os.WNOHANG)[0] != pid:  # Ends at the limit.
            assert time.monotonic() < limit, "the engine does not end"
            time.sleep(0.05)
        while Path(f"/proc/{containerd}").exists():  # Ends at the limit.
            assert time.monotonic() < limit, "its containerd does not end"
            time.sleep(0.05)

    def remove(self) -> None:
        """Stop it, with all of its containers."""
        self._engine.stop()

    def load_image(self, scratch: Path) -> None:
        """Make the image of programs of this machine and the libraries that they need."""
        tar = scratch / "tiny.tar"
        said = [
            subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            for program in _PROGRAMS
        ]
        paths = {*_PROGRAMS, *re.findall(r"(/\S+)", "".join(said))}
        with tarfile.open(tar, "w", dereference=True) as archive:
            for path in sorted(paths):
                archive.add(path, arcname=path.lstrip("/"))
        repository, tag = IMAGE.split(":")
        with closing(DockerApi(self.url)) as api:
            api.import_tar(tar, repository=repository, tag=tag, changes=())


@contextmanager
def daemon(scratch: Path, *, live_restore: bool) -> Iterator[Daemon]:
    """Yield a running engine; nothing of it is left behind."""
    found = Daemon(scratch / "engine", live_restore=live_restore)
    try:
        found.start()
        found.load_image(scratch)
        yield found
    finally:
        found.remove()
