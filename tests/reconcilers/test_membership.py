"""A node is lost only after an absence that the leader itself has watched for long enough."""

from reconcilers import membership
from reconcilers.membership import Observed
from tests.builders import a_node, node_lost, node_returned
from tests.story import given


def seen(**absent_ms: int) -> Observed:
    """An observation with a grace time of ten seconds."""
    return Observed(absent_ms=absent_ms, grace_ms=10_000)


def test_a_node_that_holds_its_lease_is_left_alone() -> None:
    """The usual case writes nothing, or the log would fill with heartbeats."""
    given(a_node("n1")).when(membership.plan, seen()).then()


def test_a_short_absence_is_no_loss() -> None:
    """An agent that restarts, or a lease that etcd revoked by mistake, must cost nothing."""
    given(a_node("n1")).when(membership.plan, seen(n1=9_999)).then()


def test_a_long_absence_is_a_loss() -> None:
    """The node offers no capacity any more."""
    given(a_node("n1"), a_node("n2")).when(membership.plan, seen(n1=10_000)).then(node_lost("n1"))


def test_a_loss_is_told_once() -> None:
    """Level-triggered, not repeated."""
    given(a_node("n1"), node_lost("n1")).when(membership.plan, seen(n1=60_000)).then()


def test_a_lost_node_with_a_lease_is_back() -> None:
    """Its containers were never given away, so it simply counts again."""
    given(a_node("n1"), node_lost("n1")).when(membership.plan, seen()).then(node_returned("n1"))
