"""A node is lost only after an absence that the leader itself has watched for long enough."""

from typing import Any

from events.catalog import Event
from reconcilers import membership
from reconcilers.membership import Observed, TenureSeen
from tests.builders import (
    a_node,
    node_expelled,
    node_fenced,
    node_lost,
    node_returned,
    state_of,
)
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


T1: dict[str, Any] = {"tenure": "t1"}
LOST = (a_node("n1", **T1), node_lost("n1"))
EXPELLED = (*LOST, node_expelled("n1", **T1))
FENCED = (*EXPELLED, node_fenced("n1", **T1))


def of_tenure(*, absent_ms: int = 60_000, **seen: Any) -> Observed:  # noqa: ANN401 - of what is seen
    """An observation of a silent node with the tenure `t1`, which lasts seven seconds at most."""
    tenure = TenureSeen(**{"tenure": "t1", "wait_ms": 7_000, **seen})
    return Observed(absent_ms={"n1": absent_ms}, grace_ms=10_000, tenures={"n1": tenure})


def to_expel(*events: Event, observed: Observed) -> tuple[str, ...]:
    """The nodes whose tenure is to be ended."""
    return membership.expulsions(state_of(*events), observed)


def test_a_lost_node_is_to_lose_its_tenure() -> None:
    """Nothing starts elsewhere before its right to run was taken away."""
    assert to_expel(*LOST, observed=of_tenure()) == ("n1",)


def test_a_node_that_is_not_called_lost_yet_keeps_its_tenure() -> None:
    """The log says it first, so that nobody is surprised by what follows."""
    assert to_expel(a_node("n1", **T1), observed=of_tenure()) == ()


def test_a_leader_that_has_just_begun_to_watch_takes_no_tenure() -> None:
    """The node may be back, and this leader has not seen it be away."""
    assert to_expel(*LOST, observed=of_tenure(absent_ms=9_999)) == ()


def test_a_word_that_was_given_protects_a_node() -> None:
    """It may be cut off from etcd only, and trains on because of that word."""
    assert to_expel(*LOST, observed=of_tenure(promised=True)) == ()


def test_a_node_that_cannot_be_fenced_is_left_to_its_operator() -> None:
    """Without a warden nothing would stop what runs there."""
    nothing = Observed(absent_ms={"n1": 60_000}, grace_ms=10_000)
    assert to_expel(a_node("n1"), node_lost("n1"), observed=nothing) == ()


def test_a_tenure_is_ended_once() -> None:
    """Whoever sees it ended begins to wait."""
    assert to_expel(*LOST, observed=of_tenure(ended_ms=0)) == ()


def test_an_ended_tenure_is_told() -> None:
    """What ran under it cannot go on; its peers on other nodes are stopped from here on."""
    observed = of_tenure(ended_ms=0)
    given(*LOST).when(membership.plan, observed).then(node_expelled("n1", **T1))


def test_an_ended_tenure_is_told_though_the_leader_that_ended_it_died() -> None:
    """It died between the two writes, before it could even say that the node is lost."""
    observed = of_tenure(ended_ms=0)
    given(a_node("n1", **T1)).when(membership.plan, observed).then(node_expelled("n1", **T1))


def test_a_node_counts_as_fenced_after_the_longest_that_its_right_can_last() -> None:
    """A millisecond too early, and two generations could run."""
    given(*EXPELLED).when(membership.plan, of_tenure(ended_ms=6_999)).then()
    given(*EXPELLED).when(membership.plan, of_tenure(ended_ms=7_000)).then(node_fenced("n1", **T1))


def test_a_word_given_before_the_end_delays_the_fencing() -> None:
    """What it allowed may still run."""
    given(*EXPELLED).when(membership.plan, of_tenure(ended_ms=7_000, promised=True)).then()


def test_a_closed_tenure_needs_no_wait() -> None:
    """A leader before this one has waited, and written it down."""
    given(*EXPELLED).when(membership.plan, of_tenure(ended_ms=0, closed=True)).then(
        node_fenced("n1", **T1)
    )


def test_a_tenure_is_closed_once_the_log_calls_the_node_fenced() -> None:
    """Another agent may take the node's name from here on, so not before."""
    over = of_tenure(ended_ms=7_000)
    assert membership.closings(state_of(*EXPELLED), over) == ()
    assert membership.closings(state_of(*FENCED), over) == ("n1",)
    assert membership.closings(state_of(*FENCED), of_tenure(ended_ms=0, closed=True)) == ()


def test_a_tenure_that_never_reported_is_ended_and_closed_too() -> None:
    """Its agent died before its first word; the next one must be able to take the name."""
    assert to_expel(*FENCED, observed=of_tenure(tenure="t2")) == ("n1",)
    over = of_tenure(tenure="t2", ended_ms=7_000)
    assert membership.closings(state_of(*FENCED), over) == ("n1",)


def test_a_node_under_a_new_tenure_is_an_ordinary_node() -> None:
    """It came back, and nothing of the old tenure is left."""
    back = (*FENCED, a_node("n1", tenure="t2"))
    given(*back).when(membership.plan, seen()).then()


def test_a_node_that_is_back_under_another_tenure_counts_as_fenced_before_it_describes_itself() -> (
    None
):
    """Its engine may be away for long; what ran under the old tenure was cleared before."""
    back = Observed(absent_ms={}, grace_ms=10_000, tenures={"n1": TenureSeen(tenure="t2")})
    given(*EXPELLED).when(membership.plan, back).then(node_fenced("n1", **T1))


def test_a_successor_that_died_before_its_first_word_keeps_nobody_expelled() -> None:
    """The log knows the old tenure, etcd the new one; the old one is over either way."""
    observed = of_tenure(tenure="t2")
    given(*EXPELLED).when(membership.plan, observed).then(node_fenced("n1", **T1))
