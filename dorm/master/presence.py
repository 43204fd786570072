"""Which nodes hold their lease, watched by the leader with its own clock.

A lease that has run out is a hint, never proof of death. So an absence is only counted while this
leader looks without a gap: after a pause of its own, or after etcd was away, every timer starts
anew. (The lease of a healthy agent can be revoked by etcd, and comes back.)
"""

from typing import Final

from dorm.keys import Keys
from dorm.ports import Clock, Etcd
from reconcilers.membership import Observed

GAP_S_MAX: Final = 2.0


class Presence:
    """Absence timers of one term of leadership."""

    def __init__(self, etcd: Etcd, keys: Keys, *, clock: Clock, grace_s: float) -> None:
        self._etcd, self._keys, self._clock = etcd, keys, clock
        self._grace_ms = int(grace_s * 1000)
        self._absent_since: dict[str, float] = {}
        self._looked_at: float | None = None

    async def look(self, node_ids: tuple[str, ...]) -> Observed:
        """Return what can be said about these nodes now.

        Raises:
            Unavailable: etcd did not answer.
        """
        found = await self._etcd.range(self._keys.nodes, keys_only=True)
        present = {item.key.removeprefix(self._keys.nodes) for item in found.items}
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at > GAP_S_MAX:
            self._absent_since.clear()
        self._looked_at = now
        self._absent_since = {
            node_id: self._absent_since.get(node_id, now)
            for node_id in node_ids
            if node_id not in present
        }
        absent_ms = {key: int((now - since) * 1000) for key, since in self._absent_since.items()}
        return Observed(absent_ms=absent_ms, grace_ms=self._grace_ms)
