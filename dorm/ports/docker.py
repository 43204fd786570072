"""A Docker engine as one agent sees it: only the containers labelled with its cluster and node."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import attrs

from events.units import Resources
from reconcilers.node import SeenContainer

ContainerSeen = SeenContainer


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
            Rejected: The engine cannot make it, such as for a missing image; no retry helps.
        """
        ...

    async def start(self, name: str) -> None:
        """Start a created container. One that runs or has ended is left as it is.

        Raises:
            Rejected: The engine cannot start it, such as for a command that is not there.
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
