"""Which nodes hold their lease and their tenure, watched by the leader with its own clock.

A lease that has run out is a hint, never proof of death. So an absence is only counted while this
leader looks without a gap: after a pause of its own, or after etcd was away, every timer starts
anew. (The lease of a healthy agent can be revoked by etcd, and comes back.) It is the same with
a tenure that was ended: what it allows may last as long as etcd was away, and a while longer.
"""

from typing import Final

import attrs
import structlog

from dorm.failpoints import point
from dorm.keys import Keys
from dorm.master.promises import Promises
from dorm.ports import Clock, Compare, Etcd, KeyValue, Put
from dorm.tenure import TenureRecord
from events.codec import from_json, to_json
from events.state import ClusterState
from reconcilers.membership import Observed, TenureSeen

_log = structlog.get_logger()

GAP_S_MAX: Final = 2.0


class Presence:
    """The timers of one term of leadership.

    Attributes:
        due_in_s: When the last look is to be repeated at the latest; None while nobody is silent.
    """

    def __init__(
        self,
        etcd: Etcd,
        keys: Keys,
        *,
        epoch: int,
        promises: Promises,
        clock: Clock,
        grace_s: float,
    ) -> None:
        """Start without having seen anything."""
        self._etcd, self._keys, self._epoch = etcd, keys, epoch
        self._promises, self._clock = promises, clock
        self._grace_ms = int(grace_s * 1000)
        self._absent_since: dict[str, float] = {}
        self._ended_since: dict[str, float] = {}
        self._rights: dict[str, KeyValue] = {}
        self._looked_at: float | None = None
        self.due_in_s: float | None = None

    async def look(self, state: ClusterState) -> Observed:
        """Return what can be said about these nodes now.

        Raises:
            Unavailable: etcd did not answer.
        """
        found = await self._etcd.range(self._keys.nodes, keys_only=True)
        present = {item.key.removeprefix(self._keys.nodes) for item in found.items}
        silent = [node_id for node_id, node in state.nodes.items() if node_id not in present]
        # One that is back under a new tenure may be long in describing itself.
        expelled = [one for one, node in state.nodes.items() if node.expelled and not node.fenced]
        records = await self._records([*dict.fromkeys((*silent, *expelled))])
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at > GAP_S_MAX:
            self._absent_since.clear()
            self._ended_since.clear()
        self._looked_at = now
        self._absent_since = {node_id: self._absent_since.get(node_id, now) for node_id in silent}
        self._ended_since = {
            record.tenure: self._ended_since.get(record.tenure, now)
            for record in records.values()
            if record.ended
        }
        observed = Observed(
            absent_ms={node_id: _ms(now - since) for node_id, since in self._absent_since.items()},
            grace_ms=self._grace_ms,
            tenures={node_id: self._seen(record, now) for node_id, record in records.items()},
        )
        self.due_in_s = _due_in_s(observed)
        return observed

    async def end_tenure(self, node_id: str) -> None:
        """End the tenure that the last look found, unless its node is back. The next look tells.

        Raises:
            Unavailable: The outcome is unknown. A late write is harmless: it holds for this tenure
                of this leader only, and whoever sees it ended begins to wait then.
        """
        right = self._rights[node_id]
        record = from_json(right.value, TenureRecord)
        ended = attrs.evolve(record, ended=True)
        result = await self._etcd.txn(
            [
                Compare(self._keys.leader, "create", self._epoch),
                Compare(self._keys.node(node_id), "create", 0),
                Compare(right.key, "mod", right.mod_revision),
            ],
            [Put(right.key, to_json(ended))],
        )
        point("master.tenure.ended")
        _log.warning("node.tenure_ended", node_id=node_id, done=result.succeeded)

    async def close_tenure(self, node_id: str) -> None:
        """Write that nothing of an ended tenure can run any more.

        Raises:
            Unavailable: The outcome is unknown, and it does not matter.
        """
        right = self._rights[node_id]
        record = attrs.evolve(from_json(right.value, TenureRecord), ended=True, closed=True)
        await self._etcd.txn(
            [
                Compare(self._keys.leader, "create", self._epoch),
                Compare(right.key, "mod", right.mod_revision),
            ],
            [Put(right.key, to_json(record))],
        )
        point("master.tenure.closed")

    async def _records(self, wanted: list[str]) -> dict[str, TenureRecord]:
        """Return the tenures of these nodes. Those of the others are in good hands."""
        if not wanted:
            self._rights = {}
            return {}
        found = await self._etcd.range(self._keys.tenures)
        rights = {item.key.removeprefix(self._keys.tenures): item for item in found.items}
        self._rights = {node_id: rights[node_id] for node_id in wanted if node_id in rights}
        return {
            node_id: from_json(item.value, TenureRecord) for node_id, item in self._rights.items()
        }

    def _seen(self, record: TenureRecord, now: float) -> TenureSeen:
        since = self._ended_since.get(record.tenure)
        return TenureSeen(
            tenure=record.tenure,
            ended_ms=None if since is None else _ms(now - since),
            wait_ms=_ms(record.wait_s) + 1,
            promised=self._promises.binds(record),
            closed=record.closed,
        )


def _due_in_s(observed: Observed) -> float | None:
    waits = [observed.grace_ms - absent_ms for absent_ms in observed.absent_ms.values()]
    waits += [
        seen.wait_ms - seen.ended_ms
        for seen in observed.tenures.values()
        if seen.ended_ms is not None
    ]
    return min((wait / 1000 for wait in waits if wait > 0), default=None)


def _ms(seconds: float) -> int:
    return int(seconds * 1000)
