"""What Dorm adds to Docker: `python -m tests.bench.containers`.

Two questions, each answered beside plain Docker in the same run, in turn:

- start: from the submit to the first container running, beside a bare create and start;
- resize: from the change of an application's bounds to the containers of the new size running,
  beside a bare stop of the old and start of the new containers.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import docker
from docker.models.containers import Container
from rich.console import Console
from rich.table import Table

from dorm import labels
from dorm.api.client import ApiClient
from dorm.local.binaries import obtain_etcd
from dorm.local.cluster import LocalCluster, Shape, running
from dorm.local.engine import engine
from dorm.local.images import ensure_demo_image

LOOP: Final = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done"]
CPUS, MEMORY_MIB, PIDS = 0.1, 64, 32
FROM, TO = 2, 3
WAIT_S: Final = 60.0
SETTLE_S: Final = 2.0  # an init process that has just begun ignores the signal that stops it


def spec(name: str, image: str, size: int) -> str:
    """Return an application of exactly `size` containers that only wait for their end."""
    return f"""
name: {name}
image: {image}
run: {{start: {LOOP!r}}}
resources: {{cpu: {CPUS}, memory: {MEMORY_MIB}MiB, pids: {PIDS}}}
scale: {{min: {size}, max: {size}}}
""".replace("'trap", '"trap').replace("done'", 'done"')


class Bare:
    """Plain Docker, with the limits that Dorm sets too."""

    def __init__(self, client: docker.DockerClient, image: str, network: str) -> None:
        self._client, self._image, self._network = client, image, network
        self._made = 0

    def start(self, count: int) -> list[Container]:
        """Create and start containers one after the other; return them running."""
        return [self._run() for _ in range(count)]

    def stop(self, containers: list[Container]) -> None:
        """Stop and remove containers: a signal to each, then a wait for each."""
        for container in containers:
            container.kill(signal="SIGTERM")
        for container in containers:
            container.wait(timeout=WAIT_S)
            container.remove()

    def _run(self) -> Container:
        self._made += 1
        container = self._client.containers.create(
            self._image,
            LOOP,
            name=f"{self._network}-bare-{self._made}",
            labels={labels.CLUSTER: self._network.removeprefix("dorm-")},
            init=True,
            nano_cpus=int(CPUS * 1e9),
            mem_limit=f"{MEMORY_MIB}m",
            memswap_limit=f"{MEMORY_MIB}m",
            pids_limit=PIDS,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            network=self._network,
        )
        container.start()
        return container


def started_at(container: Container) -> float:
    """Return when Docker started the container, in seconds of the same clock as `time.time`."""
    container.reload()
    stamp = container.attrs["State"]["StartedAt"]
    return datetime.fromisoformat(f"{stamp[:26].rstrip('Z')}Z").timestamp()


def first_running(
    client: docker.DockerClient, app_id: str, generation: int, count: int
) -> list[float]:
    """Wait until `count` containers of a generation run; return when each was started."""
    wanted = {"label": [f"{labels.APP}={app_id}", f"{labels.GENERATION}={generation}"]}
    ends_at = time.monotonic() + WAIT_S
    while time.monotonic() < ends_at:
        found = client.containers.list(filters={**wanted, "status": "running"})
        if len(found) >= count:
            return sorted(started_at(container) for container in found)
        time.sleep(0.01)
    raise TimeoutError(f"{app_id} has not {count} containers after {WAIT_S:g} s")


def time_bare(bare: Bare) -> tuple[float, float]:
    """Return the seconds of a start and of a resize by plain Docker."""
    began = time.time()
    old = bare.start(1)
    start_s = started_at(old[0]) - began
    old += bare.start(FROM - 1)
    time.sleep(SETTLE_S)
    began = time.time()
    bare.stop(old)
    new = bare.start(TO)
    resize_s = max(started_at(container) for container in new) - began
    bare.stop(new)
    return start_s, resize_s


def time_dorm(
    client: docker.DockerClient, api: ApiClient, image: str, number: int
) -> tuple[float, float]:
    """Return the seconds of the same start and resize by Dorm."""
    began = time.time()
    app_id = api.submit(spec(f"bench{number}", image, FROM), key=f"bench-{began}")["id"]
    first = first_running(client, app_id, 1, FROM)
    time.sleep(SETTLE_S)
    began_resize = time.time()
    api.change(app_id, {"min": TO, "max": TO})
    second = first_running(client, app_id, 2, TO)
    api.cancel(app_id)
    while api.app(app_id)["outcome"] is None:
        time.sleep(0.1)
    return first[0] - began, second[-1] - began_resize


@contextlib.contextmanager
def cluster(name: str) -> Iterator[tuple[LocalCluster, str, str]]:
    """Yield a cluster of one node, its engine's address, and an image."""
    binary = obtain_etcd(say=print)
    with engine(say=print) as found, tempfile.TemporaryDirectory() as directory:
        image = ensure_demo_image(found.url, say=print)
        shape = Shape(cluster=name, nodes=1, cpus=2.0)
        home = Path(directory) / "cluster"
        with running(shape, home=home, docker_url=found.url, etcd=binary) as made:
            yield made, found.url, image


def table(rows: dict[str, list[tuple[float, float]]]) -> Table:
    """Return medians, side by side."""
    titles = ("", "bare Docker, s", "Dorm, s", "Dorm adds, s", "aim, s")
    shown = Table(*titles, title="median of each")
    questions = (
        ("submit to first container running", 0, 0.5),
        (f"resize {FROM} to {TO} containers", 1, 1.0),
    )
    for question, index, aim_s in questions:
        bare_s, dorm_s = (statistics.median(one[index] for one in rows[who]) for who in rows)
        figures = (bare_s, dorm_s, dorm_s - bare_s, aim_s)
        shown.add_row(question, *(f"{figure:.2f}" for figure in figures))
    return shown


def main() -> None:
    """Measure in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rows: dict[str, list[Any]] = {"bare": [], "dorm": []}
    with cluster("bench") as (made, url, image):
        client = docker.DockerClient(base_url=url) if url else docker.from_env()
        bare = Bare(client, image, made.network)
        with contextlib.closing(made.client()) as api, contextlib.closing(client):
            for number in range(rounds):
                rows["bare"].append(time_bare(bare))
                rows["dorm"].append(time_dorm(client, api, image, number))
    Console().print(table(rows))


if __name__ == "__main__":
    main()
