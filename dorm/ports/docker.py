"""A Docker engine as one agent sees it: only the containers labelled with its cluster and node."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import attrs

from events.errors import Rejected, Unavailable
from events.text import memory
from events.units import Resources
from reconcilers.exits import SeenContainer

ContainerSeen = SeenContainer


class Unrunnable(Rejected):
    """What is wanted can run nowhere, such as an image that does not exist. No retry mends it."""


class NotPulled(Unavailable):
    """The image is not here and its registry does not give it now. It may later."""


class DiskPressure(Unavailable):
    """A disk that containers need is almost full. What runs goes on; nothing new is made."""

    def __init__(self, path: str, *, free: int, least: int) -> None:
        super().__init__(
            f"disk pressure: {path} has {memory(free)} left, and containers are made from "
            f"{memory(least)} on; make room on that disk, and it goes on by itself"
        )


@attrs.frozen(kw_only=True)
class Bind:
    """A directory of the machine, and where the container sees it."""

    source: str
    target: str
    read_only: bool = False


@attrs.frozen(kw_only=True)
class Launch:
    """Everything the engine needs to make one container.

    Attributes:
        network: Name of a user-defined network, or `host`.
        cgroup_parent: The group that it is made in, so that the node's warden can freeze it
            (`dorm.cgroups.of_containers`); empty for the engine's own choice.
    """

    name: str
    image: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    labels: Mapping[str, str]
    demand: Resources
    pids_max: int
    devices: tuple[str, ...]
    binds: tuple[Bind, ...]
    network: str
    stop_signal: str
    shm_bytes: int = 1 << 30
    cgroup_parent: str = ""


class Docker(Protocol):
    """A Docker engine. Every call has a deadline.

    Raises, everywhere:
        Unavailable: The engine does not answer.
    """

    async def containers(self) -> tuple[ContainerSeen, ...]:
        """Return all containers of this cluster and node, running or not, by name."""
        ...

    async def create(self, launch: Launch) -> None:
        """Create a container. One that exists already under that name is left as it is.

        Raises:
            Rejected: The engine cannot make it; another try here does not help.
            Unrunnable: Nor does any retry, such as for an image that does not exist.
            NotPulled: The image is missing, and could not be pulled this time.
            DiskPressure: The engine's own disk is almost full.
        """
        ...

    async def start(self, name: str) -> None:
        """Start a created container. One that runs or has ended is left as it is.

        Raises:
            Rejected: The engine cannot start it; another try of the same container does not help.
        """
        ...

    async def signal(self, name: str, signal: str) -> None:
        """Send a signal to the container's first process. One that has ended is no error."""
        ...

    async def remove(self, name: str) -> None:
        """Remove a container that has ended or never ran. One that is not there is no error.

        Raises:
            Unavailable: It runs; it was started a moment ago.
        """
        ...

    def logs(self, name: str, *, follow: bool) -> AsyncIterator[bytes]:
        """Yield the container's output, stdout and stderr together.

        Raises:
            NotFound: There is no such container.
        """
        ...

    async def versions(self) -> Mapping[str, str]:
        """Return the engine's version and storage driver."""
        ...

    def doorbell(self) -> AsyncIterator[None]:
        """Yield whenever something may have changed. Only ever a reason to look again."""
        ...
