"""Which nodes are silent, which are back, and which are given up.

Silence is no death: etcd revokes leases of healthy agents now and then, and a machine that nobody
reaches may be training on. So a node is given up in two steps, neither of which rests on a guess:

1. Its *tenure* is ended in etcd, in a write that holds only while the node's key is absent
   (`expulsions`). From here on nothing can extend its right to run, and there is no way back.
2. The leader then waits for as long as that right can last (`TenureSeen.wait_ms`), by its own clock
   and without a gap in its own looking. After that nothing of the tenure runs, on any machine
   whose warden works, and its containers count as gone. Only then may another agent take the
   node's name (`closings`).

A write of either step that lands late finds nothing that it could break.
"""

from collections.abc import Mapping

import attrs

from events.nodes import NodeExpelled, NodeFenced, NodeLost, NodeReturned
from events.state import ClusterState, Node

Action = NodeLost | NodeReturned | NodeExpelled | NodeFenced


@attrs.frozen(kw_only=True)
class TenureSeen:
    """A node's tenure as it stands in etcd.

    Attributes:
        ended_ms: For how long this leader has seen it ended, without a gap; None while it is not.
        wait_ms: How long what it allowed may run on after its end.
        promised: This master has given its word, a moment ago, not to end it for now.
        closed: It is written in etcd already that nothing of it can run any more.
    """

    tenure: str
    ended_ms: int | None = None
    wait_ms: int = 0
    promised: bool = False
    closed: bool = False

    @property
    def is_over(self) -> bool:
        """Return whether nothing of it can run any more."""
        waited = self.ended_ms is not None and self.ended_ms >= self.wait_ms
        return self.closed or (waited and not self.promised)


@attrs.frozen(kw_only=True)
class Observed:
    """What a leader sees of the nodes' leases and tenures.

    Attributes:
        absent_ms: For each node without a lease, for how long this leader has watched it be away,
            without a gap in its own looking. A node that is not in here holds its lease.
        grace_ms: From this absence on the node counts as lost.
        tenures: By node id; a node that cannot be fenced is not in here.
    """

    absent_ms: Mapping[str, int]
    grace_ms: int
    tenures: Mapping[str, TenureSeen] = attrs.field(factory=dict)


def plan(state: ClusterState, observed: Observed) -> tuple[Action, ...]:
    """Return a fact for each node whose standing has changed, the next one only."""
    facts = (_next(node, observed) for _, node in sorted(state.nodes.items()))
    return tuple(fact for fact in facts if fact is not None)


def expulsions(state: ClusterState, observed: Observed) -> tuple[str, ...]:
    """Return the nodes whose tenure is to be ended now."""
    return tuple(
        node_id
        for node_id, node in sorted(state.nodes.items())
        if node.lost
        and (not node.expelled or node.fenced)
        and observed.absent_ms.get(node_id, 0) >= observed.grace_ms
        and (seen := observed.tenures.get(node_id)) is not None
        and seen.ended_ms is None
        and not seen.promised
    )


def closings(state: ClusterState, observed: Observed) -> tuple[str, ...]:
    """Return the nodes of whose ended tenure it is to be written that nothing of it can run.

    A tenure that the log does not know never ran anything: its agent ended before it reported.
    """
    return tuple(
        node_id
        for node_id, node in sorted(state.nodes.items())
        if (seen := observed.tenures.get(node_id)) is not None
        and seen.is_over
        and not seen.closed
        and (node.fenced or seen.tenure != node.report.tenure)
    )


def _next(node: Node, observed: Observed) -> Action | None:
    node_id, tenure = node.node_id, node.report.tenure
    absent_ms, seen = observed.absent_ms.get(node_id), _seen(node, observed)
    if node.expelled:
        return NodeFenced(node_id=node_id, tenure=tenure) if _is_over(node, observed) else None
    if seen is not None and seen.ended_ms is not None:
        return NodeExpelled(node_id=node_id, tenure=tenure)
    if node.lost and absent_ms is None:
        return NodeReturned(node_id=node_id)
    if not node.lost and absent_ms is not None and absent_ms >= observed.grace_ms:
        return NodeLost(node_id=node_id)
    return None


def _is_over(node: Node, observed: Observed) -> bool:
    """Return whether nothing of an expelled node's tenure can run, and nobody has said so yet.

    Another tenure stands only after this one was cleared away by its own agent, or closed.
    """
    seen = observed.tenures.get(node.node_id)
    return (
        not node.fenced and seen is not None and (seen.tenure != node.report.tenure or seen.is_over)
    )


def _seen(node: Node, observed: Observed) -> TenureSeen | None:
    """Return what etcd says of the tenure that the log knows; None when it is of another one."""
    seen = observed.tenures.get(node.node_id)
    return seen if seen and seen.tenure == node.report.tenure else None
