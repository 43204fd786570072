"""After a restore of the store, nothing starts before every node has entered its epoch."""

from events.generations import GenerationStarted
from reconcilers import pending, rollout
from reconcilers.reasons import ReasonCode
from tests import builders as b

WAITING = (b.a_node("n1"), b.a_node("n2"), b.an_app("a"), b.a_layout({"a": {"n1": 1}}))
BEGAN = b.store_epoch_began(2)


def test_nothing_starts_while_a_node_may_run_what_the_log_does_not_know() -> None:
    """It may be another generation of the same application, on any node."""
    state = b.state_of(*WAITING, BEGAN, b.node_settled("n1"))

    assert rollout.plan(state) == ()
    reason = pending.explain(state, "a")
    assert (ReasonCode.WAITING_FOR_RELEASE, True) == (reason.code, "n2" in reason.message)


def test_it_starts_once_all_have_settled() -> None:
    """And at once, when there was no restore."""
    settled = b.state_of(*WAITING, BEGAN, b.node_settled("n1"), b.node_settled("n2"))

    for state in (settled, b.state_of(*WAITING)):
        (start,) = rollout.plan(state)
        assert isinstance(start, GenerationStarted)
