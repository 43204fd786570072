"""Calls to the engine: in threads, each with a deadline, each error in our own words."""

import asyncio
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import requests
from docker import APIClient
from docker.errors import APIError, DockerException
from docker.errors import NotFound as DockerNotFound
from urllib3.exceptions import HTTPError

from events.errors import NotFound, Rejected, Unavailable

T = TypeVar("T")

CALL_S: Final = 30.0  # a start takes a second, on a busy machine some; a hung engine answers never
THREADS: Final = 8
NO_SPACE: Final = "no space left on device"
DEFAULT_URL: Final = "unix:///var/run/docker.sock"


class Silent(Unavailable):
    """The engine does not answer at all."""


class Calls:
    """One engine, spoken to through a small pool of threads.

    A thread cannot be stopped, so the HTTP time-out ends it a little after the deadline did.
    """

    def __init__(
        self,
        url: str,
        *,
        deadline_s: float,
        threads: int = THREADS,
        on_silence: Callable[[], None] = lambda: None,
    ) -> None:
        self._url, self._deadline_s = url or DEFAULT_URL, deadline_s
        self._on_silence = on_silence
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="docker")
        self._client: APIClient | None = None
        self._making = threading.Lock()

    def client(self) -> APIClient:
        """Return a client, made at the first need: the engine may come up after the agent.

        Raises:
            Unavailable: No engine answers there.
        """
        with self._making:
            if self._client is None:
                self._client = translated(self.new_client)
            return self._client

    def new_client(self) -> APIClient:
        """Return a client with a connection of its own, as a stream needs it.

        Raises:
            Unavailable: There is nothing to connect to. Found out here, because `docker` leaves
                the socket of a connect that fails to the garbage collector.
        """
        path = self._url.removeprefix("unix://")
        if path != self._url and not Path(path).exists():
            raise Silent(f"the Docker engine does not answer: there is no socket {path}")
        return APIClient(base_url=self._url, version="auto", timeout=max(1, int(self._deadline_s)))

    async def call(self, act: Callable[[APIClient], T]) -> T:
        """Return what the engine answers.

        Raises:
            NotFound: There is no such thing.
            Unavailable: It does not answer, or cannot do it now.
        """
        loop = asyncio.get_running_loop()
        work = functools.partial(translated, lambda: act(self.client()))
        try:
            async with asyncio.timeout(self._deadline_s):
                return await loop.run_in_executor(self._pool, work)
        except Silent:
            self._on_silence()
            raise
        except TimeoutError as error:
            self._on_silence()
            msg = f"the Docker engine at {self._url} has not answered in {self._deadline_s:g} s"
            raise Unavailable(msg) from error

    def close(self) -> None:
        """Let go of the threads; what still runs in one ends by its HTTP time-out."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()


def translated(act: Callable[[], T]) -> T:
    """Return what `act` returns, with the library's errors as ours."""
    try:
        return act()
    except DockerNotFound as error:
        raise NotFound(said(error)) from error
    except APIError as error:
        msg = f"the Docker engine cannot do that now: {said(error)}"
        raise Unavailable(msg) from error
    except (DockerException, requests.RequestException, HTTPError, OSError) as error:
        msg = f"the Docker engine does not answer: {error}"
        raise Silent(msg) from error


@contextmanager
def refusing() -> Iterator[None]:
    """Take an error of the engine in this block for its last word: no other try helps.

    Raises:
        Rejected: With the engine's own words.
        Unavailable: Its disk is full, which somebody may mend.
    """
    try:
        yield
    except APIError as error:
        words = said(error)
        raise (Unavailable if NO_SPACE in words else Rejected)(words) from error


def said(error: APIError) -> str:
    """Return the engine's own words, without the HTTP around them."""
    return " ".join(str(error.explanation or error).split())
