"""A state to bytes and back, and its hash.

The order of a map in a state has a meaning (applications stand in order of submission), so these
bytes keep it, unlike the canonical bytes of an event, whose keys are sorted. They are the same for
everyone all the same: the fold builds every map in the order of the log, and `restore` keeps it.
"""

import msgspec

from events.codec import digest, from_json
from events.state import ClusterState


def dump(state: ClusterState) -> bytes:
    """Return the state as JSON, every map in its own order."""
    return msgspec.json.encode(state)


def restore(raw: bytes) -> ClusterState:
    """Return the state that `dump` wrote. A fold goes on from it as from the original.

    Raises:
        Corrupt: These bytes are no state.
    """
    return from_json(raw, ClusterState)


def state_hash(state: ClusterState) -> str:
    """Return the sha256 of a state, by which masters and auditors compare."""
    return digest(dump(state))
