"""Asking masters for their word, over HTTP."""

from typing import Final

import httpx

ANSWER_S_MAX: Final = 0.8


class HttpMasters:
    """See `dorm.ports.Masters`."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._client = httpx.AsyncClient(timeout=ANSWER_S_MAX, trust_env=False)

    async def promise(self, name: str, url: str, *, node_id: str, tenure: str) -> bool:
        """See `Masters`."""
        question = {"node_id": node_id, "tenure": tenure}
        try:
            answer = await self._client.post(f"{url}/v1/failsafe", json=question)
            return answer.status_code == httpx.codes.OK and answer.json() == {"master": name}
        except (httpx.HTTPError, httpx.InvalidURL, ValueError):
            return False

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.aclose()
