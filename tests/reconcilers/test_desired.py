"""The desired documents say what the state says; nothing is stopped by leaving it out."""

import attrs

from events.apps import CheckpointPolicy
from events.catalog import Event
from reconcilers import desired
from reconcilers.documents import Peer, StopOrder
from tests.builders import (
    a_generation,
    a_layout,
    a_node,
    an_app,
    checkpoint_requested,
    container_exited,
    container_started,
    generation_stopped,
    node_forgotten,
    node_lost,
    state_of,
    stop_requested,
)
from tests.checkpoint_builders import checkpoint_rejected, checkpoint_saved


def running(**spec: object) -> list[Event]:
    """Two containers of a, on n1 and n2."""
    return [
        a_node("n1"),
        a_node("n2"),
        an_app("a", **spec),
        a_layout({"a": {"n1": 1, "n2": 1}}),
        a_generation("a", "n1", "n2", first_port=20_000),
    ]


def test_each_node_is_told_its_own_containers_and_all_peers() -> None:
    """Peers stand in rank order, by container name on a bridge network."""
    documents = desired.documents(state_of(*running()))

    (container,) = documents["n2"].containers
    assert ("a", 1, 1, None) == (*container.key, container.stop)
    assert (
        Peer(rank=0, node_id="n1", host="a-g1-w0", port=20_000),
        Peer(rank=1, node_id="n2", host="a-g1-w1", port=20_001),
    ) == container.peers


def test_on_the_hosts_network_peers_are_node_addresses() -> None:
    """Bridge networks do not span machines."""
    events = running()
    events[0] = a_node("n1", network="host", address="10.0.0.1")

    (container,) = desired.documents(state_of(*events))["n1"].containers

    assert "10.0.0.1" == container.peers[0].host


def test_a_checkpoint_request_is_an_explicit_stop_with_the_apps_signal_and_grace() -> None:
    """Absence from the document would not tell a stop from a stale document."""
    policy = CheckpointPolicy(signal="SIGUSR1", grace_ms=90_000)
    documents = desired.documents(state_of(*running(checkpoint=policy), checkpoint_requested("a")))

    (container,) = documents["n1"].containers
    assert StopOrder(signal="SIGUSR1", grace_ms=90_000, reason="resize") == container.stop


def test_nobody_waits_long_for_work_that_is_not_wanted() -> None:
    """A cancel or a dead peer shortens the grace, never lengthens it."""
    long, short = CheckpointPolicy(grace_ms=90_000), CheckpointPolicy(grace_ms=1_000)

    def grace(policy: CheckpointPolicy, cause: str) -> int:
        state = state_of(*running(checkpoint=policy), stop_requested("a", cause=cause))
        stop = desired.documents(state)["n1"].containers[0].stop
        assert stop is not None
        return stop.grace_ms

    assert [10_000, 3_000, 1_000] == [
        grace(long, "cancel"),
        grace(long, "failure"),
        grace(short, "cancel"),
    ]


def test_a_container_leaves_the_document_only_when_its_exit_is_in_the_log() -> None:
    """From there on it may be removed."""
    state = state_of(
        *running(), checkpoint_requested("a"), container_exited("a", rank=0, node_id="n1")
    )

    assert () == desired.documents(state)["n1"].containers
    assert 1 == len(desired.documents(state)["n2"].containers)


def test_later_generations_run_the_resume_command() -> None:
    """And know it, whatever the command is."""
    spec = {"start": ("train",), "resume": ("train", "--resume")}
    again: list[Event] = [
        checkpoint_requested("a"),
        container_exited("a", rank=0, node_id="n1"),
        container_exited("a", rank=1, node_id="n2"),
        generation_stopped("a"),
        a_generation("a", "n1", generation=2),
    ]

    first = desired.documents(state_of(*running(**spec)))["n1"].containers[0]
    second = desired.documents(state_of(*running(**spec), *again))["n1"].containers[0]
    plain = desired.documents(state_of(*running(), *again))["n1"].containers[0]

    assert (("train",), False) == (first.command, first.resume)
    assert (("train", "--resume"), True) == (second.command, second.resume)
    assert (("train",), True) == (plain.command, plain.resume)


def test_a_generation_is_told_what_it_starts_from_and_resumes_only_then() -> None:
    """Before anything was saved there is nothing that the resume command could go on from."""
    policy = CheckpointPolicy(path="/ckpt/$DORM_APP_ID")
    again: list[Event] = [
        checkpoint_requested("a"),
        container_exited("a", rank=0, node_id="n1"),
        container_exited("a", rank=1, node_id="n2"),
        generation_stopped("a"),
        a_generation("a", "n1", "n2", generation=2),
    ]
    saved = checkpoint_saved("a", step=40), checkpoint_saved("a", step=50)

    (nothing,) = desired.documents(state_of(*running(checkpoint=policy), *again))["n1"].containers
    assert ((), None, False) == (nothing.seeds, nothing.oldest_kept, nothing.resume)

    state = state_of(*running(checkpoint=policy), *saved, *again)
    (zero,), (one,) = (desired.documents(state)[node].containers for node in ("n1", "n2"))
    assert [(1, 50), (1, 40)] == [seed.position for seed in zero.seeds]
    assert (True, zero.seeds) == (zero.resume, one.seeds)
    assert ((1, 40), None) == (zero.oldest_kept, one.oldest_kept)

    state = state_of(*running(checkpoint=policy), *saved, *again, checkpoint_rejected("a", step=50))
    (zero,) = desired.documents(state)["n1"].containers
    assert zero.seed is not None
    assert ((1, 40), True) == (zero.seed.position, zero.seeds[0].rejected)


def test_the_checkpoint_directory_is_the_apps_own() -> None:
    """Two applications of one name must not share it."""
    policy = CheckpointPolicy(path="/ckpt/$DORM_APP_ID")
    (container,) = desired.documents(state_of(*running(checkpoint=policy)))["n1"].containers

    assert "/ckpt/a" == container.checkpoint_path


def test_only_documents_that_say_something_new_are_written() -> None:
    """An event that changes nothing on a node must not wake its agent."""
    before = desired.documents(state_of(*running()))
    after = state_of(*running(), container_started("a", rank=0, node_id="n1"))

    assert ["n1"] == [document.node_id for document in desired.plan(after, before)]
    assert () == desired.plan(after, desired.documents(after))


def test_a_reader_that_is_behind_writes_nothing() -> None:
    """A document never goes back."""
    state = state_of(*running())
    ahead = {
        node_id: attrs.evolve(document, revision=state.revision + 1, containers=())
        for node_id, document in desired.documents(state).items()
    }

    assert () == desired.plan(state, ahead)


def test_a_lost_node_keeps_its_document_until_it_is_forgotten() -> None:
    """Its containers may well be running."""
    lost = state_of(*running(), node_lost("n1"))
    forgotten = state_of(*running(), node_lost("n1"), node_forgotten("n1"))

    assert 1 == len(desired.documents(lost)["n1"].containers)
    assert ["n2"] == list(desired.documents(forgotten))


def test_the_document_of_a_forgotten_node_is_emptied() -> None:
    """Its agent may come back after all, and must not start what counts as gone."""
    stored = desired.documents(state_of(*running()))
    forgotten = state_of(*running(), node_lost("n1"), node_forgotten("n1"))

    written = {document.node_id: document for document in desired.plan(forgotten, stored)}

    assert () == written["n1"].containers
    assert () == desired.plan(forgotten, {**stored, **written})
