"""Watches what leaves the log: nothing does that is not in the archive, whole.

It reads the archive's files with code of its own, for a reader with the writer's fault would not
notice it.
"""

import json
from collections.abc import Mapping, Sequence

import zstandard

from dorm.keys import Keys
from dorm.log.snapshots import Pointer
from dorm.ports.etcd import Compare, WatchEvent
from events.codec import from_json
from events.control import SegmentSealed
from tests.simulation.checker import Checker
from tests.simulation.etcd_store import EtcdStore


class ArchiveChecker:
    """Checks each deletion of an event, and of the opening of a segment, as it happens.

    Attributes:
        dropped: The segments whose opening was deleted, in order.
    """

    def __init__(
        self,
        keys: Keys,
        store: EtcdStore,
        shared: Mapping[str, bytes],
        directory: str,
        checker: Checker,
    ) -> None:
        """Watch `store`; the archive lies in the files `shared` below `directory`."""
        store.observers.append(self._written)
        self.dropped: list[int] = []
        self._keys, self._store, self._shared = keys, store, shared
        self._directory, self._checker = directory, checker

    def _written(
        self, revision: int, compares: Sequence[Compare], changes: tuple[WatchEvent, ...]
    ) -> None:
        del revision, compares
        for change in changes:
            key = change.item.key
            if change.kind != "delete":
                continue
            if key.startswith(self._keys.segment_openings):
                self._opening_deleted(int(key.removeprefix(self._keys.segment_openings)))
            elif key.startswith(self._keys.events):
                segment = int(key.removeprefix(self._keys.events).split("/")[0])
                self._checker.require(
                    segment in self.dropped, f"I7 {key} was deleted before the segment's opening"
                )

    def _opening_deleted(self, segment: int) -> None:
        checker = self._checker
        checker.tell(f"segment {segment} leaves etcd")
        checker.require(
            segment == len(self.dropped), f"I7 segment {segment} left before an earlier one"
        )
        self.dropped.append(segment)
        recorded = [one for one in checker.recorded if one.segment == segment]
        checker.require(
            self.events_of(segment) == [(one.revision, one.event_id) for one in recorded],
            f"I7 segment {segment} left etcd, and its file does not hold the same",
        )
        seals = (one.event for one in checker.recorded if isinstance(one.event, SegmentSealed))
        checker.require(
            any(seal.segment == segment for seal in seals), f"I7 segment {segment} left unsealed"
        )
        item = self._store.get(self._keys.snapshot_latest)
        snapshot = from_json(item.value, Pointer).revision if item else 0
        checker.require(
            not recorded or snapshot > recorded[-1].revision,
            f"I7 segment {segment} left, and the snapshot of {snapshot} does not cover it",
        )

    def events_of(self, segment: int) -> list[tuple[int, str]]:
        """Return revision and id of every event in a segment's file; nothing without one."""
        path = f"{self._directory}/{self._keys.root.split('/')[-1]}/segment-{segment:08d}.jsonl.zst"
        packed = self._shared.get(path)
        if packed is None:
            return []
        lines = zstandard.ZstdDecompressor().decompressobj().decompress(packed).splitlines()
        events = (json.loads(line) for line in lines[1:-1])
        return [(one["revision"], one["event"]["id"]) for one in events]
