"""The few Docker calls that set-up, demo and tests need beside the agent's own adapter."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import docker
import requests
from docker.errors import APIError, BuildError, DockerException, ImageNotFound, NotFound

from events.errors import Unavailable

_CALL_S: Final = 60
_KNOCK_S: Final = 5.0
_DEFAULT: Final = "unix:///var/run/docker.sock"


class DockerApi:
    """One Docker engine. An empty URL is Docker's own default.

    Raises, everywhere:
        Unavailable: The engine does not answer, or cannot do it; the message has its words.
    """

    def __init__(self, url: str = "") -> None:
        """Connect to an engine."""
        self.url = url
        with _translated(url):
            _knock(url or os.environ.get("DOCKER_HOST") or _DEFAULT)
            self._client = (
                docker.DockerClient(base_url=url, timeout=_CALL_S)
                if url
                else docker.from_env(timeout=_CALL_S)
            )

    def version(self) -> str:
        """Return the engine's version."""
        with _translated(self.url):
            return str(self._client.version()["Version"])

    def image_labels(self, tag: str) -> Mapping[str, str] | None:
        """Return the labels of an image, or None when there is no such image."""
        with _translated(self.url):
            try:
                return self._client.images.get(tag).labels or {}
            except ImageNotFound:
                return None

    def import_tar(self, path: Path, *, repository: str, tag: str, changes: Sequence[str]) -> None:
        """Make an image of a root file system."""
        with _translated(self.url):
            said = self._client.api.import_image_from_file(
                str(path), repository=repository, tag=tag, changes=list(changes)
            )
        _raise_error_line(said)

    def build(
        self,
        context: Path,
        *,
        dockerfile: str,
        tag: str,
        arguments: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> None:
        """Build an image with the classic builder, which every engine still has."""
        with _translated(self.url):
            self._client.images.build(
                path=str(context),
                dockerfile=dockerfile,
                tag=tag,
                buildargs=dict(arguments),
                labels=dict(labels),
                network_mode="host",  # a private engine has no bridge for the builder
                rm=True,
                forcerm=True,
            )

    def pull(self, image: str, *, timeout_s: int) -> None:
        """Pull an image; silence of the registry for longer than `timeout_s` is a failure."""
        with _translated(self.url):
            patient = (
                docker.DockerClient(base_url=self.url, timeout=timeout_s)
                if self.url
                else docker.from_env(timeout=timeout_s)
            )
            patient.images.pull(image)

    def make_network(self, name: str, *, labels: Mapping[str, str]) -> None:
        """Make a bridge network. One that exists is left as it is."""
        with _translated(self.url):
            if not self._client.networks.list(names=[f"^{name}$"]):
                self._client.networks.create(name, driver="bridge", labels=dict(labels))

    def remove_network(self, name: str) -> None:
        """Remove a network. One that is not there is no error."""
        with _translated(self.url), contextlib.suppress(NotFound):
            self._client.networks.get(name).remove()

    def started_at(self, label: str) -> Mapping[str, str]:
        """Return when each running container with that label started, by container id."""
        with _translated(self.url):
            return {
                str(container.id): str(container.attrs["State"]["StartedAt"])
                for container in self._client.containers.list(filters={"label": label})
            }

    def kill_containers(self) -> None:
        """Kill all containers that run."""
        with _translated(self.url):
            for container in self._client.containers.list(ignore_removed=True):
                with contextlib.suppress(APIError):  # It has ended meanwhile.
                    container.kill()

    def remove_containers(self, label: str) -> int:
        """Kill and remove all containers with that label, and return how many there were."""
        with _translated(self.url):
            found = self._client.containers.list(
                all=True, filters={"label": label}, ignore_removed=True
            )
            for container in found:
                with contextlib.suppress(NotFound):
                    container.remove(force=True)
            return len(found)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@contextlib.contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except BuildError as error:
        raise Unavailable(f"the image could not be built: {error.msg}") from error
    except APIError as error:
        raise Unavailable(f"Docker refuses: {error.explanation or error}") from error
    except (DockerException, requests.exceptions.RequestException, OSError) as error:
        raise Unavailable(f"no Docker engine answers at {url or 'the default address'}") from error


def _knock(url: str) -> None:
    """Fail if nobody listens; docker-py would find out too, but leak its socket."""
    if url.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as knock:
            knock.settimeout(_KNOCK_S)
            knock.connect(url.removeprefix("unix://"))


def _raise_error_line(said: str) -> None:
    """`docker import` answers 200 and tells of a failure only in its last line."""
    for line in said.splitlines():
        if "error" in (words := json.loads(line)):
            raise Unavailable(f"Docker cannot import the image: {words['error']}")
