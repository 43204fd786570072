"""Fencing: a write of the leader takes place only while that very leader is in office.

The epoch of a leader is the create revision of its leader key, so no two leaders share one. A
master that was paused past its lease finds out by a refused write, having changed nothing.
"""

from dorm.keys import Keys
from dorm.ports.etcd import Compare, KeyValue
from events.errors import Fenced


def fence_compares(keys: Keys, fence: int | None) -> tuple[Compare, ...]:
    """Return the guard of a write under epoch `fence`; none for a write that needs no leader."""
    return () if fence is None else (Compare(keys.leader, "create", fence),)


def check_fence(leader: KeyValue | None, fence: int | None) -> None:
    """Tell from the leader key, read by a transaction that was refused, whether that was why.

    Raises:
        Fenced: Another master leads, or none does.
    """
    if fence is None or (leader is not None and leader.create_revision == fence):
        return
    now = "nobody leads" if leader is None else f"epoch {leader.create_revision} is in office"
    raise Fenced(f"epoch {fence} is over: {now}")
