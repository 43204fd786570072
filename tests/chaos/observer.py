"""Sees everything and touches nothing: writes down what etcd, Docker and the kernel know.

| part of the record | what it holds |
|---|---|
| `etcd` | every write below the cluster's root, from the first revision on, without a gap |
| `docker` | the engine's events of containers; it loses some when the engine is killed |
| `cgroups` | which containers have processes, and which are frozen: asked of the kernel |
| `permits` | by when each node may run containers, as its permit file says |
"""

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import docker
import requests
from docker.errors import DockerException

from dorm import etcd, labels
from dorm.keys import Keys
from dorm.ports import KeyValue
from events.errors import Compacted, Unavailable
from tests.chaos.journal import CGROUPS, DOCKER, ETCD, PERMITS, Journal, boottime

LOOK_S: Final = 0.1
AGAIN_S: Final = 0.2
CATCH_UP_S: Final = 20.0
JOIN_S: Final = 1.0  # whoever waits for Docker's next event has nothing more to write down
_CONTAINER: Final = re.compile(r"[0-9a-f]{64}$")
_V1: Final = Path("/sys/fs/cgroup/freezer")
_V2: Final = Path("/sys/fs/cgroup")


class Observer:
    """Watches one cluster until it is told to stop."""

    def __init__(
        self,
        journal: Journal,
        *,
        cluster: str,
        endpoints: Sequence[str],
        docker_url: str,
        permits: Mapping[str, Path],
    ) -> None:
        """Take the record to write and what to watch; `permits` are the permit files by node."""
        self._journal, self._cluster, self._endpoints = journal, cluster, endpoints
        self._docker_url, self._permits = docker_url, permits
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._revision = 0

    def start(self) -> None:
        """Begin."""
        for watch in (self._watch_etcd, self._watch_docker, self._watch_kernel):
            thread = threading.Thread(target=watch, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self, *, through: int) -> bool:
        """End, once all writes through that revision of etcd are seen; return whether they were.

        That is also untrue when a part of the observer has failed meanwhile.
        """
        ends_at = time.monotonic() + CATCH_UP_S
        while self._revision < through and time.monotonic() < ends_at:
            time.sleep(0.05)
        sound = self._revision >= through and all(thread.is_alive() for thread in self._threads)
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=JOIN_S)
        return sound

    # etcd

    def _watch_etcd(self) -> None:
        asyncio.run(self._follow())

    async def _follow(self) -> None:
        client = etcd.connect(self._endpoints)
        following = asyncio.create_task(self._follow_for_ever(client))
        while not self._over.is_set():  # noqa: ASYNC110 - another thread sets it
            await asyncio.sleep(LOOK_S)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await client.close()

    async def _follow_for_ever(self, client: etcd.EtcdClient) -> None:
        root = Keys(self._cluster).root
        while True:
            try:
                stream = client.watch(f"{root}/", start_revision=self._revision + 1)
                async with contextlib.aclosing(stream):  # type: ignore[type-var]
                    async for batch in stream:
                        for change in batch:
                            self._note_write(change.kind, change.item)
            except Compacted as error:
                self._journal.note(ETCD, kind="gap", through=error.revision)
                self._revision = error.revision - 1
            except Unavailable:
                await asyncio.sleep(AGAIN_S)

    def _note_write(self, kind: str, item: KeyValue) -> None:
        self._journal.note(
            ETCD,
            kind=kind,
            key=item.key,
            value=item.value.decode(errors="replace"),
            create=item.create_revision,
            revision=item.mod_revision,
            version=item.version,
            lease=item.lease,
        )
        self._revision = item.mod_revision

    # Docker

    def _watch_docker(self) -> None:
        """Follow the engine's events; after a silence, ask from a little before it on."""
        since, seen = time.time(), set[tuple[str, str, int]]()
        filters = {"type": "container", "label": f"{labels.CLUSTER}={self._cluster}"}
        while not self._over.is_set():
            try:
                client = docker.APIClient(base_url=self._docker_url, timeout=2)
                with contextlib.closing(client):
                    for event in client.events(since=int(since) - 1, filters=filters, decode=True):
                        key = event["id"], event["Action"], event["timeNano"]
                        if key not in seen:
                            seen.add(key)
                            self._note_docker(event)
                        since = event["timeNano"] / 1e9
                        if self._over.is_set():
                            break
            except (DockerException, requests.exceptions.RequestException, OSError):
                time.sleep(AGAIN_S)

    def _note_docker(self, event: Mapping[str, Any]) -> None:
        attributes = event["Actor"]["Attributes"]
        self._journal.note(
            DOCKER,
            action=event["Action"],
            id=event["id"],
            name=attributes.get("name", ""),
            node=attributes.get(labels.NODE, ""),
            exit_code=attributes.get("exitCode"),
        )

    # The kernel

    def _watch_kernel(self) -> None:
        """Look several times a second; note what has changed since the last look."""
        root = _V1 if _V1.is_dir() else _V2
        tops = (root / self._cluster, root / "dorm" / self._cluster)
        last: dict[str, str] = {}
        permits: dict[str, str] = {}
        while not self._over.is_set():
            at = boottime()
            now = dict(_containers(tops, v1=root == _V1))
            if now != last:
                self._journal.note(CGROUPS, at=at, containers=now)
                last = now
            for node, path in self._permits.items():
                text = _read(path)
                if text and text != permits.get(node):
                    permits[node] = text
                    self._journal.note(PERMITS, node=node, permit=json.loads(text))
            self._over.wait(LOOK_S)


def _containers(tops: Sequence[Path], *, v1: bool) -> Iterator[tuple[str, str]]:
    """Yield each container that has processes, with `running`, `frozen` or `freezing`."""
    state = _state_v1 if v1 else _state_v2
    for top in tops:
        for folder in _below(top):
            if _CONTAINER.search(folder.name) and (found := state(folder)):
                yield _CONTAINER.search(folder.name)[0], found  # type: ignore[index]


def _below(top: Path) -> Iterator[Path]:
    try:
        folders = [one for one in top.iterdir() if one.is_dir()]
    except OSError:  # It goes while we look.
        return
    for folder in folders:
        yield folder
        if not _CONTAINER.search(folder.name):
            yield from _below(folder)


def _state_v1(folder: Path) -> str:
    if not _read(folder / "cgroup.procs"):
        return ""
    state = _read(folder / "freezer.state").strip()
    return {"FROZEN": "frozen", "FREEZING": "freezing"}.get(state, "running")


def _state_v2(folder: Path) -> str:
    events = _read(folder / "cgroup.events").split()
    fields = dict(zip(events[::2], events[1::2], strict=False))
    if fields.get("populated") != "1":
        return ""
    return "frozen" if fields.get("frozen") == "1" else "running"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
