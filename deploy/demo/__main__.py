"""`python -m deploy.demo`, which is `make demo`: prepare, play, clean up, and say how it went."""

import contextlib
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy.demo.history import ClaimFailed
from deploy.demo.observer import Observer
from deploy.demo.screen import Screen
from deploy.demo.steps import Demo
from dorm.local.binaries import obtain_etcd
from dorm.local.cluster import Shape, running
from dorm.local.engine import engine
from dorm.local.images import ensure_demo_image
from dorm.local.interrupts import EXIT_INTERRUPTED, as_keyboard_interrupt
from dorm.local.places import local_dir
from events.errors import DormError, Unavailable

SHAPE: Final = Shape(
    cluster="demo", etcd_members=3, masters=2, nodes=3, cpus=1.0, memory_bytes=1 << 30
)
SLOTS: Final = 6  # each container asks for half a cpu


def main() -> int:
    """Play the demo and return its exit status."""
    screen, began_at = Screen(), time.monotonic()
    try:
        with as_keyboard_interrupt(), _alone(local_dir() / "demo") as home:
            _play(screen, home)
    except KeyboardInterrupt:
        screen.say("interrupted; everything is stopped")
        return EXIT_INTERRUPTED
    except (ClaimFailed, DormError) as error:
        screen.failed(str(error))
        return 1
    screen.console.print()
    screen.say(f"All of it was true, in {time.monotonic() - began_at:.0f} s. All is stopped.")
    return 0


def _play(screen: Screen, home: Path) -> None:
    binary = obtain_etcd(say=screen.say, members=SHAPE.etcd_members)
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(engine(say=screen.say))
        ensure_demo_image(found.url, say=screen.say)
        screen.head(1, "Three etcd members, two masters, three nodes on one Docker engine")
        cluster = stack.enter_context(
            running(SHAPE, home=home / "cluster", docker_url=found.url, etcd=binary)
        )
        stack.callback(screen.say, "stopping everything")
        screen.checked("a master leads and three nodes are ready")
        client = stack.enter_context(contextlib.closing(cluster.client()))
        observer = Observer(cluster=cluster, client=client, screen=screen, slots=SLOTS)
        with screen.showing():
            Demo(cluster, observer, screen).play()


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[Path]:
    """Yield the demo's directory, empty, to one demo at a time.

    Raises:
        Unavailable: Another demo runs.
    """
    home.mkdir(exist_ok=True)
    with (home.with_suffix(".lock")).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Unavailable("another demo runs in this checkout; let it end first") from error
        shutil.rmtree(home / "cluster", ignore_errors=True)
        try:
            yield home
        finally:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
