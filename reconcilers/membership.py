"""Which nodes count as lost, and which are back. A lost node's containers may well be running."""

from collections.abc import Mapping

import attrs

from events.nodes import NodeLost, NodeReturned
from events.state import ClusterState


@attrs.frozen(kw_only=True)
class Observed:
    """What a leader sees of the nodes' leases.

    Attributes:
        absent_ms: For each node without a lease, for how long this leader has watched it be away,
            without a gap in its own looking. A node that is not in here holds its lease.
        grace_ms: From this absence on the node counts as lost.
    """

    absent_ms: Mapping[str, int]
    grace_ms: int


def plan(state: ClusterState, observed: Observed) -> tuple[NodeLost | NodeReturned, ...]:
    """Return a fact for each node whose standing has changed."""
    facts: list[NodeLost | NodeReturned] = []
    for node_id, node in sorted(state.nodes.items()):
        absent_ms = observed.absent_ms.get(node_id)
        if node.lost and absent_ms is None:
            facts.append(NodeReturned(node_id=node_id))
        elif not node.lost and absent_ms is not None and absent_ms >= observed.grace_ms:
            facts.append(NodeLost(node_id=node_id))
    return tuple(facts)
