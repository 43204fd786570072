"""Short looks at what is stored."""

from dorm.keys import Keys
from dorm.log.leadership import LeaderRecord
from events.codec import from_json
from events.recorded import Recorded
from tests.simulation.etcd_store import EtcdStore


def leader_of(store: EtcdStore, keys: Keys) -> str | None:
    """Return the name of the master that holds the leader key now."""
    item = store.get(keys.leader)
    return from_json(item.value, LeaderRecord).master if item else None


def brief(recorded: Recorded) -> str:
    """Return what an event says, in one line."""
    event = recorded.event
    parts = [
        f"{name}={value}"
        for name in (
            "app_id",
            "generation",
            "rank",
            "node_id",
            "reason",
            "cause",
            "exit_code",
            "master",
            "epoch",
            "changes",
        )
        if (value := getattr(event, name, None)) not in (None, "")
    ]
    return f"{recorded.stamp.actor} {' '.join(parts)}"
