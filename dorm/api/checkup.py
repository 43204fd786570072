"""`GET /v1/admin/doctor`: the state of etcd, Docker and clocks, as this master can see it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import httpx

from dorm import doctor
from dorm.api.view import View
from dorm.doctor import Finding
from dorm.ports import Clock, Etcd

AGENT_S: Final = 2.0


class Checkup:
    """Looks at everything once, when it is asked."""

    def __init__(self, view: View, *, etcd: Etcd, endpoints: Sequence[str], clock: Clock) -> None:
        self._view, self._etcd, self._endpoints, self._clock = view, etcd, endpoints, clock

    async def findings(self) -> tuple[Finding, ...]:
        """Return everything that is to be said. What does not answer is a finding, not an error."""
        state = self._view.state()
        members, offsets = await asyncio.gather(
            self._etcd.status(),
            self._offsets({key: node.report.api_url for key, node in state.nodes.items()}),
        )
        found = [*self._of_masters(), *doctor.of_etcd(members, self._endpoints)]
        for node_id, node in sorted(state.nodes.items()):
            offset_ms = offsets[node_id]
            found += doctor.of_node(node_id, node.report.versions, offset_ms=offset_ms)
        return tuple(found)

    def _of_masters(self) -> tuple[Finding, ...]:
        if self._view.hold():
            hint = "dorm status, then dorm admin new-epoch"
            return (Finding(level="error", subject="store", text=self._view.hold(), hint=hint),)
        text = f"epoch {self._view.store_epoch()}"
        return (Finding(level="ok", subject="store", text=text),)

    async def _offsets(self, urls: Mapping[str, str]) -> dict[str, int | None]:
        """Return by how many ms each node's clock is ahead of this master's; None is unknown."""
        async with httpx.AsyncClient(trust_env=False, timeout=AGENT_S) as client:
            found = await asyncio.gather(*(self._offset(client, url) for url in urls.values()))
        return dict(zip(urls, found, strict=True))

    async def _offset(self, client: httpx.AsyncClient, url: str) -> int | None:
        sent_ms = self._clock.now_ms()
        try:
            there_ms = int((await client.get(f"{url}/v1/health")).json()["now_ms"])
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
            return None
        return there_ms - (sent_ms + self._clock.now_ms()) // 2
