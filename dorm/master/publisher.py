"""Write the desired documents: the leader's only writes besides events.

Each write compares the leader key and the document's own revision. The second is needed too: a
write whose answer was lost may still land later, and must not overwrite a newer document of the
same leader.
"""

from typing import Final

from dorm.keys import Keys
from dorm.ports import Compare, Etcd, Get, Put
from events.codec import from_json, to_json
from events.errors import Fenced, Unavailable
from events.state import ClusterState
from reconcilers import desired
from reconcilers.documents import NodeDocument

BYTES_PER_WRITE_MAX: Final = (
    1 << 20
)  # etcd refuses a request above 1.5 MiB (server/embed/config.go)
DOCUMENTS_PER_WRITE_MAX: Final = 40  # one put and one compare each; etcd allows 128 of either


class Publisher:
    """Keeps the stored documents equal to the projection of the state, for one term."""

    def __init__(self, etcd: Etcd, keys: Keys, *, epoch: int) -> None:
        self._etcd, self._keys, self._epoch = etcd, keys, epoch
        self._stored: dict[str, tuple[NodeDocument, int]] | None = None
        self._published: ClusterState | None = None

    async def publish(self, state: ClusterState) -> tuple[str, ...]:
        """Bring the stored documents up to `state`; return the nodes whose document changed.

        Raises:
            Fenced: Another master leads.
            Unavailable: Try again; what is stored is read anew then.
        """
        if self._stored is None:
            self._stored = await self._load()
        elif self._published is state:
            return ()  # The usual pass: nothing has happened since the last one.
        documents = {node_id: document for node_id, (document, _) in self._stored.items()}
        changed = desired.plan(state, documents)
        for batch in _batches(changed):
            await self._write(batch)
        self._published = state
        return tuple(document.node_id for document in changed)

    async def _load(self) -> dict[str, tuple[NodeDocument, int]]:
        found = await self._etcd.range(self._keys.desireds)
        return {
            item.key.removeprefix(self._keys.desireds): (
                from_json(item.value, NodeDocument),
                item.mod_revision,
            )
            for item in found.items
        }

    async def _write(self, batch: tuple[tuple[NodeDocument, bytes], ...]) -> None:
        assert self._stored is not None, "documents are loaded before they are written"
        stored, self._stored = self._stored, None  # Unknown until the answer is here.
        keys = [self._keys.desired(document.node_id) for document, _ in batch]
        olds = [stored.get(document.node_id) for document, _ in batch]
        result = await self._etcd.txn(
            [
                Compare(self._keys.leader, "create", self._epoch),
                *(
                    Compare(key, "mod", old[1] if old else 0)
                    for key, old in zip(keys, olds, strict=True)
                ),
            ],
            [Put(key, raw) for key, (_, raw) in zip(keys, batch, strict=True)],
            [Get(self._keys.leader)],
        )
        if not result.succeeded:
            leader = result.gets[0]
            if leader is None or leader.create_revision != self._epoch:
                msg = f"epoch {self._epoch} is over"
                raise Fenced(msg)
            msg = "a document moved: an earlier write of this leader landed late"
            raise Unavailable(msg)
        stored.update({document.node_id: (document, result.revision) for document, _ in batch})
        self._stored = stored


def _batches(
    documents: tuple[NodeDocument, ...],
) -> tuple[tuple[tuple[NodeDocument, bytes], ...], ...]:
    """Cut documents into writes that one transaction can hold."""
    batches: list[list[tuple[NodeDocument, bytes]]] = []
    size = 0
    for document in documents:
        raw = to_json(document)
        full = batches and len(batches[-1]) == DOCUMENTS_PER_WRITE_MAX
        if not batches or full or size + len(raw) > BYTES_PER_WRITE_MAX:
            batches.append([])
            size = 0
        batches[-1].append((document, raw))
        size += len(raw)
    return tuple(tuple(batch) for batch in batches)
