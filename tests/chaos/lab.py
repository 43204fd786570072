"""The lab: prepared outside, entered, and run inside."""

import contextlib
import hashlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs
import docker

from dorm.local.binaries import obtain_etcd
from dorm.local.engine import engine
from dorm.local.images import DEMO_IMAGE, ensure_demo_image
from dorm.local.places import local_dir
from tests.chaos import enclosure
from tests.chaos.journal import Journal
from tests.chaos.network import Network
from tests.chaos.observer import Observer
from tests.chaos.programs import MASTERS, MEMBERS, NODES, Programs
from tests.chaos.record import RECORD

IMAGE: Final = DEMO_IMAGE


@attrs.frozen(kw_only=True)
class Lab:
    """A running cluster on hosts of its own, and who watches it."""

    network: Network
    programs: Programs
    observer: Observer
    journal: Journal


_BEGAN_S: Final = time.monotonic()


def say(sentence: str) -> None:
    """Tell whoever watches, with the time since the begin of this process."""
    sys.stdout.write(f"chaos [{time.monotonic() - _BEGAN_S:5.1f} s]: {sentence}\n")
    sys.stdout.flush()


def outside(module: str, arguments: Sequence[str], judge: Callable[[Path, int], int]) -> int:
    """Prepare all that needs the machine, run the module inside a room, and judge what it left.

    Args:
        module: Its `main` is called with `--inside FOLDER --image FILE --etcd FILE` added.
        arguments: The rest of its command line.
        judge: Given the run's folder and its exit code; returns the exit code in the end.

    Raises:
        Unavailable, Rejected: The image or etcd cannot be had.
    """
    binary = obtain_etcd(say=say, members=len(MEMBERS)).path
    image = _image_file()
    with enclosure.home() as folder:
        inside = ("--inside", str(folder), "--image", str(image), "--etcd", str(binary))
        code = enclosure.enter(module, [*arguments, *inside])
        return judge(folder, code)


def inside(folder: Path, *, image: Path, etcd: Path) -> Lab:
    """Return a running, watched cluster. Only inside a room of its own, whose end is its end.

    Raises:
        Unavailable: It did not start.
    """
    enclosure.furnish()
    network = Network((*MEMBERS, *MASTERS, *NODES))
    programs = Programs(network, folder=folder, cluster=folder.name, etcd=etcd)
    journal = Journal(folder / RECORD)
    observer = Observer(
        journal,
        cluster=programs.cluster,
        endpoints=programs.endpoints,
        docker_url=programs.docker_url,
        permits=programs.permits,
    )
    programs.start(image)
    observer.start()
    return Lab(network=network, programs=programs, observer=observer, journal=journal)


def _image_file() -> Path:
    """Return the demo image as a file; written once for each content."""
    with engine(say=say) as found:
        ensure_demo_image(found.url, say=say)
        client = (
            docker.DockerClient(base_url=found.url, timeout=120)
            if found.url
            else docker.from_env(timeout=120)
        )
        with contextlib.closing(client):
            image = client.images.get(IMAGE)
            name = hashlib.sha256(str(image.id).encode()).hexdigest()[:12]
            path = local_dir() / "chaos" / f"image-{name}.tar"
            if not path.exists():
                for old in path.parent.glob("image-*.tar"):
                    old.unlink(missing_ok=True)
                path.parent.mkdir(exist_ok=True)
                temporary = path.with_suffix(".part")
                with temporary.open("wb") as file:
                    for chunk in image.save(named=True):
                        file.write(chunk)
                temporary.replace(path)
            return path
