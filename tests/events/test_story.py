"""Events as sentences."""

import pytest
from hypothesis import given

from events.catalog import KIND_OF, Event
from events.recorded import Recorded, Stamp
from events.story import about, sentence, story, subjects
from tests import builders as b
from tests.golden.write import EXAMPLES
from tests.strategies import envelopes

SENTENCES = {
    "app.submitted/4": "ann submitted digits-a as digits-a-x1y2z: 1 to 6 containers of 0.5 cpus, "
    "512 MiB, 1 gpu",
    "app.changed/2": "ann set weight 0.5, scale 2 to 3 and priority 10 of digits-a-x1y2z",
    "app.cancel_requested/1": "ann asked to cancel digits-a-x1y2z",
    "app.retrying/1": "digits-a-x1y2z waits for retry 2: oom",
    "app.requeued/1": "digits-a-x1y2z may start again",
    "app.completed/1": "digits-a-x1y2z completed",
    "app.failed/1": "digits-a-x1y2z failed: gave up after 2 retries",
    "app.cancelled/1": "digits-a-x1y2z is cancelled",
    "app.quarantined/1": "digits-a-x1y2z is left out of layouts: the planner ran out of memory",
    "app.unquarantined/1": "ann had layouts decided with digits-a-x1y2z again",
    "node.reported/2": "node n1 reported 2 cpus, 8 GiB, 1 gpu",
    "node.lost/1": "node n1 is lost: its agent is silent",
    "node.returned/1": "node n1 is back",
    "node.expelled/1": "node n1 may run nothing any more: its tenure was ended",
    "node.fenced/1": "node n1 is fenced off: nothing runs there",
    "node.forgotten/1": "ann vouched that node n1 is off for good",
    "node.settled/1": "node n1 has nothing left from before epoch 2",
    "layout.decided/2": "layout decided by drf/1 from revision 41, part 1 of 2 (not the configured "
    "policy: the planner ran out of memory): digits-a-x1y2z gets 1 container on n1 (fair share); "
    "digits-b-k3l4m gets nothing (fair share)",
    "layout.configured/1": "ann set the rules of layouts: policy utilization, loss factor 0.1, "
    "touch factor 0.05, shortfall price 2, horizon 15 min, minimum run 5 min, gang wait 2 min, "
    "static size 4",
    "layout.due/1": "the layout is due: 10 min since it was looked at",
    "generation.started/1": "digits-a-x1y2z generation 8 starts: 1 container on n1",
    "checkpoint.saved/1": "digits-a-x1y2z generation 7: its checkpoint at step 1200 is kept "
    "(9 files, 2.79 GiB)",
    "checkpoint.rejected/1": "digits-a-x1y2z generation 8 cannot start from the checkpoint at "
    "step 1200 of generation 7: model.npz is gone",
    "checkpoint.requested/1": "digits-a-x1y2z generation 7 is asked to save its work and end: "
    "4 -> 2 containers",
    "stop.requested/1": "digits-a-x1y2z generation 8 is stopped, failure: container 0: oom",
    "container.started/1": "digits-a-x1y2z generation 8: container 0 runs on n1",
    "container.exited/2": "digits-a-x1y2z generation 8: container 0 on n1 was killed after its "
    "grace time, checkpoint at step 1200: grace time over",
    "generation.stopped/1": "digits-a-x1y2z generation 8 is gone",
    "leader.elected/1": "master m1 leads from now on (epoch 17)",
    "segment.sealed/1": "segment 3 sealed with 5000 events",
    "store.epoch_began/1": "ann vouched for a restored store: its epoch 2 begins, what stood "
    "behind revision 9100 is lost",
}


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: KIND_OF[type(event)])
def test_each_kind_has_a_plain_sentence(event: Event) -> None:
    """A timeline is read by people who have not read the code."""
    (recorded,) = b.history(event)

    assert SENTENCES[KIND_OF[type(event)]] == sentence(recorded)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (b.app_changed("a"), "ann set nothing of a"),
        (
            b.app_retrying("a", attempt=0, reason="node n1 is lost"),
            "a starts again: node n1 is lost",
        ),
        (b.a_layout({}), "layout decided by drf/1 from revision 0: no change"),
        (
            b.container_exited("a", exit_code=3),
            "a generation 1: container 0 on n1 exited with code 3",
        ),
        (
            b.container_exited("a", exit_code=None, reason="start_error", message="no such image"),
            "a generation 1: container 0 on n1 could not be started: no such image",
        ),
    ],
)
def test_a_sentence_says_only_what_there_is(event: Event, expected: str) -> None:
    """No empty brackets, no `None`."""
    (recorded,) = b.history(event)

    assert expected == sentence(recorded)


@given(envelopes())
def test_no_sentence_can_disturb_a_terminal(recorded: Recorded) -> None:
    """Names and messages are users' text; a control sequence could hide or fake lines."""
    assert sentence(recorded).isprintable()


def test_the_actor_is_named_as_people_know_it() -> None:
    """`user/` is for machines; a master keeps its kind in front."""
    event = b.app_cancel_requested("a")
    by_master = Recorded(event_id="x", stamp=Stamp(at_ms=0, actor="master/m1"), event=event)

    assert "master/m1 asked to cancel a" == sentence(by_master)


def test_the_story_of_a_subject_is_every_event_that_names_it() -> None:
    """What became of an application is asked by its id, and of a node by its name."""
    history = b.history(
        b.a_node("n1"),
        b.a_node("n2"),
        b.an_app("a"),
        b.an_app("c"),
        b.a_layout({"a": {"n1": 1, "n2": 1}}),
        b.a_generation("a", "n1", "n2"),
        b.container_started("a", rank=1, node_id="n2"),
        b.leader_elected("m1"),
        b.segment_sealed(),
    )

    assert [3, 5, 6, 7] == [recorded.revision for recorded in story(history, "a")]
    assert [2, 5, 6, 7] == [recorded.revision for recorded in story(history, "n2")]
    assert [8] == [recorded.revision for recorded in story(history, "m1")]
    assert not about(history[0], "n")


@given(envelopes())
def test_every_event_but_a_seal_is_about_something(recorded: Recorded) -> None:
    """An event that no story tells could hide what happened; some are about the cluster."""
    of_the_cluster = {
        "store.epoch_began/1",
        "segment.sealed/1",
        "layout.configured/1",
        "layout.due/1",
    }
    kind = KIND_OF[type(recorded.event)]

    assert subjects(recorded) or kind in of_the_cluster or not recorded.event.changes  # type: ignore[union-attr]
