"""The agents' side of logs: one container's output, fetched from the agent that runs it."""

from collections.abc import AsyncGenerator
from typing import Final, Protocol

import httpx

from events.errors import NotFound, Unavailable

CONNECT_S: Final = 3.0
SILENCE_S: Final = 30.0  # without follow; with it, a training may be silent for hours


class AgentLogs(Protocol):
    """Where one container's output comes from."""

    def stream(
        self, api_url: str, *, app_id: str, generation: int, rank: int, follow: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the container's output from its beginning; with `follow`, until it ends.

        Raises:
            NotFound: The agent knows no such container (yet).
            Unavailable: The agent does not answer, or the connection broke.
        """
        ...


class HttpAgentLogs:
    """See `AgentLogs`. One client for all agents."""

    def __init__(self, client: httpx.AsyncClient | None = None) -> None:
        """Take a client, or make one."""
        self._client = client or httpx.AsyncClient(trust_env=False)

    async def stream(
        self, api_url: str, *, app_id: str, generation: int, rank: int, follow: bool
    ) -> AsyncGenerator[bytes, None]:
        """See `AgentLogs`."""
        url = f"{api_url}/v1/logs/{app_id}/{generation}/{rank}"
        timeout = httpx.Timeout(None if follow else SILENCE_S, connect=CONNECT_S)
        params = {"follow": "1"} if follow else {}
        try:
            async with self._client.stream("GET", url, params=params, timeout=timeout) as answer:
                if answer.status_code == httpx.codes.NOT_FOUND:
                    raise NotFound("has no output yet", field="container", value=f"rank {rank}")
                if answer.is_error:
                    raise Unavailable(f"the agent at {api_url} answers {answer.status_code}")
                async for chunk in answer.aiter_raw():
                    yield chunk
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unavailable(f"the agent at {api_url} does not answer: {error}") from error

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()
