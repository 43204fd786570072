"""`DockerEngine`: one agent's view of a Docker engine."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import attrs
import structlog
from docker import APIClient
from docker.errors import APIError, ImageNotFound
from docker.errors import NotFound as DockerNotFound

from dorm import labels
from dorm.engine import shape
from dorm.engine.calls import CALL_S, Calls, refusing, said
from dorm.engine.delivery import deliver
from dorm.engine.echo import echoed
from dorm.engine.lives import Lives
from dorm.engine.pipes import widen
from dorm.engine.pull import pull
from dorm.engine.streams import Stream
from dorm.files import free_bytes
from dorm.ports.docker import ContainerSeen, DiskPressure, Launch, NotPulled
from events.errors import Conflict, NotFound, Rejected, Unavailable

_log = structlog.get_logger()

PULL_S: Final = 600.0
_CONFLICT: Final = 409


class ImageMissing(Unavailable):
    """The engine does not have the image."""


class DockerEngine:
    """See `dorm.ports.Docker`. Touches only containers with the labels of its cluster and node.

    Other nodes of Dorm, and anyone else, may use the same engine.
    """

    def __init__(
        self,
        url: str,
        *,
        cluster: str,
        node_id: str,
        call_s: float = CALL_S,
        pull_s: float = PULL_S,
        disk_bytes_min: int = 0,
    ) -> None:
        """Take the engine's address, deadlines and least room; nothing is asked of it yet."""
        self._disk_bytes_min = disk_bytes_min
        self._lives = Lives()
        self._calls = Calls(url, deadline_s=call_s, on_silence=self._lives.forget)
        self._pulls = Calls(url, threads=2, deadline_s=pull_s)
        self._ours = labels.of_node(cluster, node_id)
        self._networks: set[str] = set()
        self._machine: shape.Machine | None = None

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """See `Docker`."""
        return await self._calls.call(self._list)

    async def create(self, launch: Launch) -> None:
        """See `Docker`. A missing image is pulled once."""
        assert labels.carries(launch.labels, self._ours), "an agent makes containers of its own"
        try:
            await self._calls.call(lambda client: self._create(client, launch))
        except ImageMissing:
            await self._pull(launch.image)
            await self._calls.call(lambda client: self._create(client, launch))

    async def start(self, name: str) -> None:
        """See `Docker`."""

        def act(client: APIClient) -> None:
            found = self._inspect(client, name)
            if found["State"]["Status"] != "created" or found["State"]["Error"]:
                return  # The engine would run an ended container once more.
            with refusing():
                client.start(found["Id"])
            self._lives.alive(name)
            widen(found["Id"], self._inspect(client, name)["State"]["Pid"])

        try:
            await self._calls.call(act)
        except Rejected:
            self._networks.clear()  # Perhaps it was that the network is gone.
            raise

    async def signal(self, name: str, signal: str) -> None:
        """See `Docker`."""

        def act(client: APIClient) -> None:
            try:
                found = self._inspect(client, name)
                if signal == "SIGKILL" or not deliver(found["Id"], found["State"]["Pid"], signal):
                    client.kill(found["Id"], signal)
            except (DockerNotFound, NotFound):
                return
            except APIError as error:
                if error.status_code != _CONFLICT:  # It has ended.
                    raise

        await self._calls.call(act)

    async def remove(self, name: str) -> None:
        """See `Docker`."""

        def act(client: APIClient) -> None:
            try:
                client.remove_container(self._inspect(client, name)["Id"], v=True)
            except (DockerNotFound, NotFound):
                return
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise
                msg = f"{name} cannot be removed now: {said(error)}"
                raise Unavailable(msg) from error

        await self._calls.call(act)

    async def logs(self, name: str, *, follow: bool) -> AsyncGenerator[bytes, None]:
        """See `Docker`."""
        container = await self._calls.call(lambda client: self._inspect(client, name)["Id"])
        client = await self._calls.call(lambda _: self._calls.new_client())
        stream = Stream(client, lambda api: api.logs(container, stream=True, follow=follow))
        async with aclosing(stream.items()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def versions(self) -> Mapping[str, str]:
        """See `Docker`."""

        def act(client: APIClient) -> dict[str, str]:
            about = client.info()
            return {
                "docker": str(about["ServerVersion"]),
                "storage": str(about["Driver"]),
                "live-restore": "on" if about.get("LiveRestoreEnabled") else "off",
                "cgroup": str(about.get("CgroupVersion", "1")),
                "cgroup-driver": str(about.get("CgroupDriver", "")),
            }

        return await self._calls.call(act)

    async def doorbell(self) -> AsyncGenerator[None, None]:
        """See `Docker`."""
        client = await self._calls.call(lambda _: self._calls.new_client())
        marks = [f"{name}={value}" for name, value in self._ours.items()]
        stream = Stream(
            client, lambda api: api.events(filters={"type": "container", "label": marks})
        )
        async with aclosing(stream.items()) as events, aclosing(echoed(events)) as rings:
            try:
                async for _ in rings:
                    yield
            finally:
                self._lives.forget()

    def close(self) -> None:
        """Let go of the engine."""
        self._calls.close()
        self._pulls.close()

    def _list(self, client: APIClient) -> tuple[ContainerSeen, ...]:
        marks = [f"{name}={value}" for name, value in self._ours.items()]
        found = []
        for listed in client.containers(all=True, filters={"label": marks}):
            try:
                found.append(self._seen(client, listed))
            except DockerNotFound:
                continue  # Removed between the two calls.
            except (KeyError, ValueError) as error:
                _log.error("container.unreadable", container=listed["Id"], reason=repr(error))
        if any(one.state == "exited" for one in found):
            self._check_still_there(client)
        return tuple(sorted((self._judged(one) for one in found), key=lambda one: one.name))

    def _check_still_there(self, client: APIClient) -> None:
        """Fail if the engine is about to stop, and to end its containers with it.

        It answers on old connections until it is gone, but takes no new ones.
        """
        if self._lives.survives is None:
            self._lives.survives = bool(client.info()["LiveRestoreEnabled"])
        if not self._lives.survives:
            self._calls.new_client().close()

    def _judged(self, one: ContainerSeen) -> ContainerSeen:
        if one.state == "running":
            self._lives.alive(one.name)
        if one.state != "exited":
            return one
        return attrs.evolve(one, interrupted=self._lives.interrupted(one.name, one.exit_code))

    def _seen(self, client: APIClient, listed: Mapping[str, Any]) -> ContainerSeen:
        if listed["State"] == "running":  # The list knows that; of the others, only details tell.
            return shape.seen(listed, None)
        details, error = client.inspect_container(listed["Id"]), ""
        if shape.may_not_have_begun(details):
            error = shape.words_of_init(client.logs(listed["Id"], tail=1))
        return shape.seen(listed, details, error=error)

    def _inspect(self, client: APIClient, name: str) -> Mapping[str, Any]:
        """Return a container's details, if it is ours."""
        found: Mapping[str, Any] = client.inspect_container(name)
        if not labels.carries(found["Config"]["Labels"] or {}, self._ours):
            raise NotFound("is not a container of this node", field="container", value=name)
        return found

    def _create(self, client: APIClient, launch: Launch) -> None:
        self._ensure_network(client, launch.network)
        if self._machine is None:
            self._machine = shape.machine(client.info())
        self._check_disk(self._machine.root)
        options = shape.host_options(launch, self._machine)
        host_config = client.create_host_config(**options)
        with refusing():
            try:
                client.create_container(**shape.container_options(launch), host_config=host_config)
            except ImageNotFound as error:
                raise ImageMissing(said(error)) from error
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise
                self._check_own_name(client, launch.name)

    def _check_disk(self, root: str) -> None:
        if root and Path(root).is_dir():  # or the engine is on another machine
            free = free_bytes(Path(root))
            if free < self._disk_bytes_min:
                raise DiskPressure(root, free=free, least=self._disk_bytes_min)

    def _check_own_name(self, client: APIClient, name: str) -> None:
        try:
            self._inspect(client, name)
        except NotFound as error:
            raise Conflict(
                "is the name of a container that this agent did not make",
                field="container",
                value=name,
                hint="remove that container",
            ) from error

    def _ensure_network(self, client: APIClient, name: str) -> None:
        if name in self._networks or name == "host":
            return
        try:
            client.inspect_network(name)
        except DockerNotFound:
            try:
                client.create_network(
                    name, driver="bridge", check_duplicate=True, labels=self._ours
                )
            except APIError as error:
                if error.status_code != _CONFLICT:  # Another agent was faster.
                    raise
        self._networks.add(name)

    async def _pull(self, image: str) -> None:
        _log.info("image.pulled", image=image)
        try:
            await self._pulls.call(lambda client: pull(client, image))
        except Unavailable as error:
            msg = f"image {image} is not on this node and could not be pulled: {error}"
            raise NotPulled(msg) from error
