"""Every etcd key of Dorm, as functions. See docs/architecture.md for who writes which, and how."""

from typing import Final

ROOT: Final = "/dorm"


class Keys:
    """The keys of one cluster."""

    def __init__(self, cluster: str) -> None:
        """Take the cluster's name; clusters share nothing but etcd."""
        self.root = f"{ROOT}/{cluster}"
        self.segment_now = f"{self.root}/seg/cur"
        self.segment_openings = f"{self.root}/seg/at/"
        self.events = f"{self.root}/ev/"
        self.leader = f"{self.root}/leader"
        self.store = f"{self.root}/store"
        self.alarms = f"{self.root}/alarm/"
        self.cards = f"{self.root}/master/"
        self.nodes = f"{self.root}/node/"
        self.desireds = f"{self.root}/desired/"
        self.tenures = f"{self.root}/tenure/"
        self.masters = f"{self.root}/masters"
        self.nothing = f"{self.root}/nothing"  # never written
        self.statuses = f"{self.root}/status/"
        self.snapshot_latest = f"{self.root}/snap/latest"
        self.reclaimed = f"{self.root}/admin/reclaimed"

    def segment(self, segment: int) -> str:
        """Return the prefix of a segment's events."""
        return f"{self.events}{segment:08d}/"

    def segment_opening(self, segment: int) -> str:
        """Return the key whose create revision stands before every event of the segment."""
        return f"{self.segment_openings}{segment:08d}"

    def event(self, segment: int, event_id: str) -> str:
        """Return the key of one event."""
        return f"{self.segment(segment)}{event_id}"

    def producer(self, producer: str) -> str:
        """Return the cursor of a producer."""
        return f"{self.root}/prod/{producer}"

    def submit(self, idempotency_key: str) -> str:
        """Return the key that remembers a user's submit."""
        return f"{self.root}/dd/{idempotency_key}"

    def snapshot_chunk(self, revision: int, chunk: int) -> str:
        """Return the key of one piece of a snapshot."""
        return f"{self.root}/snap/{revision:020d}/{chunk:04d}"

    def desired(self, node_id: str) -> str:
        """Return the key of a node's desired document."""
        return f"{self.desireds}{node_id}"

    def node(self, node_id: str) -> str:
        """Return the key that an agent holds by lease."""
        return f"{self.nodes}{node_id}"

    def master(self, name: str) -> str:
        """Return the key that a master holds by lease while it lives."""
        return f"{self.cards}{name}"

    def alarm(self, witness: str) -> str:
        """Return the key by which a witness tells that the store went back: `node/n1`."""
        return f"{self.alarms}{witness}"

    def tenure(self, node_id: str) -> str:
        """Return the key of a node's right to run; without a lease, so it stays."""
        return f"{self.tenures}{node_id}"

    def status(self, node_id: str) -> str:
        """Return the key of a node's latest status."""
        return f"{self.statuses}{node_id}"
