"""`dorm dev`: a small cluster to play with, in the foreground, until Ctrl-C."""

import contextlib
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from dorm.local.binaries import obtain_etcd
from dorm.local.cluster import LocalCluster, Shape, running
from dorm.local.engine import engine
from dorm.local.images import ensure_demo_image
from dorm.local.interrupts import as_keyboard_interrupt
from dorm.local.places import checkout, local_dir
from events.errors import DormError, Unavailable

_LOOK_S: Final = 1.0


def run_dev(
    *,
    nodes: int,
    cpus: float,
    memory_bytes: int,
    fake_gpus: int,
    masters: int = 1,
    data_dir: Path | None = None,
) -> int:
    """Run a cluster until Ctrl-C and return the exit code.

    Args:
        nodes: How many agents; all share this machine's Docker engine.
        cpus: What each node offers.
        memory_bytes: What each node offers.
        fake_gpus: What each node pretends to have.
        masters: How many masters.
        data_dir: Everything lies in a directory `cluster` in there while it runs; a new place
            when left out.

    Raises:
        Rejected: There is no fit etcd.
    """
    shape = Shape(
        cluster="dev",
        masters=masters,
        nodes=nodes,
        cpus=cpus,
        memory_bytes=memory_bytes,
        fake_gpus=fake_gpus,
    )
    home = data_dir or Path(tempfile.mkdtemp(prefix="dev-", dir=local_dir()))
    try:
        with as_keyboard_interrupt():
            _run(shape, home)
    except KeyboardInterrupt:
        return 0
    except Unavailable as error:
        print(f"dorm dev: {error}", file=sys.stderr)  # noqa: T201 - a command's output
        return 1
    finally:
        if data_dir is None:
            shutil.rmtree(home, ignore_errors=True)
    return 0


def _run(shape: Shape, home: Path) -> None:
    """Run the cluster until an interrupt.

    Raises:
        Unavailable: There is no Docker engine, or something did not start or ended by itself.
    """
    binary = obtain_etcd(say=_say)
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(engine(say=_say))
        _prepare_image(found.url)
        _say("starting etcd, masters and agents")
        cluster = stack.enter_context(
            running(shape, home=home / "cluster", docker_url=found.url, etcd=binary)
        )
        _say(_what_to_try(cluster))
        stack.callback(_say, "stopping")
        _watch(cluster)


def _prepare_image(docker_url: str) -> None:
    """Build the example's image in a checkout. Without it the cluster works all the same."""
    if checkout() is None:
        return
    try:
        ensure_demo_image(docker_url, say=_say)
    except DormError as error:
        _say(f"no example image, so the example cannot run: {error}")


def _watch(cluster: LocalCluster) -> None:
    """Wait for Ctrl-C.

    Raises:
        Unavailable: A process ended by itself.
    """
    while True:  # ends by KeyboardInterrupt or by an error
        for child in cluster.children:
            if not child.running:
                raise Unavailable(f"{child.name} ended by itself:\n{child.last_words()}")
        time.sleep(_LOOK_S)


def _what_to_try(cluster: LocalCluster) -> str:
    root = checkout()
    example = root / "deploy/examples/digits/app.yaml" if root else "app.yaml"
    urls = ",".join(cluster.master_urls.values())
    return f"""The cluster runs: {cluster.shape.nodes} nodes. Ctrl-C ends it. In another terminal:

  export DORM_MASTERS={urls}
  dorm nodes                    what there is
  dorm submit {example}
  dorm ps -w                    watch it
  dorm logs -f digits           its output
  dorm set digits --max 2       resize it while it runs
  dorm why digits               why it has this size
  dorm-events tail --etcd {cluster.endpoints} --cluster {cluster.shape.cluster}

Specs may mount `ckpt`, which is {cluster.checkpoints}
Logs of etcd, masters and agents: {cluster.home}"""


def _say(sentence: str) -> None:
    print(sentence, file=sys.stdout, flush=True)  # noqa: T201 - a command's output
