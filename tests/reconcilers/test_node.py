"""What an agent does next: examples that name a situation, and what holds in all of them."""

from collections.abc import Mapping
from typing import Any, assert_never

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.units import Resources
from reconcilers.documents import NodeDocument, Peer, StopOrder, WantedContainer
from reconcilers.exits import Key, Refusal, ReportExited, SeenContainer
from reconcilers.node import (
    INIT_MS,
    KILL_AGAIN_MS,
    ORPHAN,
    Action,
    Create,
    Kill,
    Observed,
    ReportStarted,
    SaveLogsAndRemove,
    Signal,
    Start,
    next_look_ms,
    plan,
)

STOP = StopOrder(signal="SIGUSR1", grace_ms=30_000, reason="resize")
KEY = ("a", 1, 0)


def wanted(
    app_id: str = "a", *, rank: int = 0, started: bool = False, stop: StopOrder | None = None
) -> WantedContainer:
    """Return a container that a document may hold."""
    return WantedContainer(
        app_id=app_id,
        app_name="train",
        generation=1,
        rank=rank,
        started=started,
        stop=stop,
        image="image",
        command=("train",),
        resume=False,
        env={},
        demand=Resources(cpu_milli=1000),
        pids_max=64,
        devices=(),
        mounts=(),
        checkpoint_path="",
        grace_ms=30_000,
        port=20_000,
        peers=(Peer(rank=rank, node_id="n1", host="h", port=20_000),),
    )


def document(*containers: WantedContainer, revision: int = 10) -> NodeDocument:
    """Return a document of one node."""
    return NodeDocument(node_id="n1", revision=revision, containers=containers)


def seen(state: str, *, app_id: str = "a", revision: int = 10, **details: object) -> SeenContainer:
    """Return a container as Docker shows it."""
    return SeenContainer(
        name=f"{app_id}-g1-w0",
        app_id=app_id,
        generation=1,
        rank=0,
        revision=revision,
        state=state,  # type: ignore[arg-type]
        **details,  # type: ignore[arg-type]
    )


def observed(*containers: SeenContainer, **memory: object) -> Observed:
    """Return what an agent sees and remembers."""
    return Observed(containers=containers, **memory)  # type: ignore[arg-type]


def exit_of(reason: str, exit_code: int | None = None) -> tuple[str, int | None]:
    """Return what a test compares of a report."""
    return reason, exit_code


def reported(actions: tuple[Action, ...]) -> tuple[str, int | None]:
    """Return reason and code of the one report that was planned."""
    (report,) = actions
    assert isinstance(report, ReportExited)
    return report.reason, report.exit_code


def test_a_wanted_container_is_made_then_started_then_reported() -> None:
    """The three steps are apart, so that a crash between two of them is seen by the next agent."""
    run = document(wanted())

    assert plan(run, observed()) == (Create(wanted=wanted(), revision=10),)
    assert plan(run, observed(seen("created"))) == (Start(key=KEY, name="a-g1-w0"),)
    assert plan(run, observed(seen("running"))) == (ReportStarted(key=KEY),)
    assert plan(run, observed(seen("running"), started=frozenset({KEY}))) == ()


def test_without_a_document_nothing_is_done() -> None:
    """An agent that cannot reach etcd leaves its containers alone."""
    assert plan(None, observed(seen("running"), seen("exited", app_id="b"))) == ()


@pytest.mark.parametrize("by", ["document", "launch", "report"])
def test_a_container_that_may_have_run_is_never_made_again(by: str) -> None:
    """A second start of one rank would train twice on one checkpoint: it is lost instead."""
    known = {
        "document": observed(),
        "launch": observed(launched_ms={KEY: 0}),
        "report": observed(started=frozenset({KEY})),
    }[by]

    actions = plan(document(wanted(started=by == "document")), known)

    assert reported(actions) == exit_of("lost")


def test_a_create_that_was_never_answered_is_tried_again() -> None:
    """Nothing of it has run, and a name admits only one: Docker's hiccups fail no training."""
    assert plan(document(wanted()), observed()) == (Create(wanted=wanted(), revision=10),)


def test_a_reported_exit_closes_the_container_for_ever() -> None:
    """The next generation may run elsewhere already, whatever an older order says."""
    assert plan(document(wanted()), observed(exited=frozenset({KEY}))) == ()
    assert plan(document(wanted()), observed(seen("created"), exited=frozenset({KEY}))) == ()


def test_a_container_that_runs_after_its_exit_was_reported_is_killed() -> None:
    """A start that was on its way when the agent died may land late."""
    actions = plan(document(wanted()), observed(seen("running"), exited=frozenset({KEY})))

    assert actions == (Kill(key=KEY, name="a-g1-w0"),)


def test_a_stop_signals_waits_and_kills() -> None:
    """The grace time belongs to the application; after it the partition must move on."""
    stop = document(wanted(started=True, stop=STOP))
    running = seen("running")

    assert plan(stop, observed(running)) == (Signal(key=KEY, name="a-g1-w0", signal="SIGUSR1"),)
    assert plan(stop, observed(running, signalled_ms={KEY: 29_999})) == ()
    assert plan(stop, observed(running, signalled_ms={KEY: 30_000})) == (
        Kill(key=KEY, name="a-g1-w0"),
    )


def test_a_container_that_has_just_begun_is_not_signalled_yet() -> None:
    """Its init process has no handlers yet: the signal would be lost, and the grace with it."""
    stop, running = document(wanted(started=True, stop=STOP)), seen("running")

    young = observed(running, launched_ms={KEY: INIT_MS - 1})
    assert plan(stop, young) == ()
    assert next_look_ms(stop, young) == 1
    (action,) = plan(stop, observed(running, launched_ms={KEY: INIT_MS}))
    assert isinstance(action, Signal)


def test_a_kill_is_repeated_only_after_a_while() -> None:
    """Dying takes time, and an engine that restarts in the middle forgets the kill."""
    stop = document(wanted(started=True, stop=STOP))
    late = {KEY: 60_000}

    assert plan(stop, observed(seen("running"), signalled_ms=late, killed_ms={KEY: 100})) == ()
    again = observed(seen("running"), signalled_ms=late, killed_ms={KEY: KILL_AGAIN_MS})
    assert plan(stop, again) == (Kill(key=KEY, name="a-g1-w0"),)


def test_the_next_look_is_known_in_advance() -> None:
    """The agent sleeps until the earliest grace time is over, not a relist interval longer."""
    stop = document(wanted(started=True, stop=STOP))

    assert next_look_ms(document(wanted(started=True)), observed(seen("running"))) is None
    assert next_look_ms(stop, observed(seen("running"), signalled_ms={KEY: 29_000})) == 1_000
    assert next_look_ms(stop, observed(seen("exited"), signalled_ms={KEY: 29_000})) is None
    assert next_look_ms(None, observed(seen("running"), signalled_ms={KEY: 29_000})) is None


def test_a_stop_of_what_was_never_made_is_reported_as_lost() -> None:
    """Somebody waits for every rank to be gone, so a rank without a container must say so too."""
    assert reported(plan(document(wanted(stop=STOP)), observed())) == exit_of("lost")


def test_a_stop_of_what_never_started_removes_first_and_reports_then() -> None:
    """Reported first, a start that is still on its way could make it run after all."""
    stop = document(wanted(stop=STOP))

    assert plan(stop, observed(seen("created"))) == (SaveLogsAndRemove(key=KEY, name="a-g1-w0"),)
    assert reported(plan(stop, observed())) == exit_of("lost")


@pytest.mark.parametrize(
    ("details", "memory", "expected"),
    [
        ({"exit_code": 0}, {}, exit_of("exited", 0)),
        ({"exit_code": 1}, {}, exit_of("exited", 1)),
        ({"exit_code": 137, "oom_killed": True}, {}, exit_of("oom", 137)),
        ({"exit_code": 0, "oom_killed": True}, {}, exit_of("exited", 0)),
        ({"exit_code": 137}, {"killed_ms": {KEY: 5}}, exit_of("killed", 137)),
        ({"exit_code": 0}, {"killed_ms": {KEY: 5}}, exit_of("exited", 0)),
        ({"exit_code": 137}, {}, exit_of("exited", 137)),
        ({"exit_code": 0, "interrupted": True}, {}, exit_of("lost", 0)),
        ({"exit_code": 127, "error": "no such file"}, {}, exit_of("start_error")),
        ({"exit_code": 127, "error": "odd"}, {"started": {KEY}}, exit_of("start_error")),
    ],
)
def test_an_exit_is_named_by_code_memory_flag_and_our_own_deeds(
    details: Mapping[str, Any], memory: Mapping[str, Any], expected: tuple[str, int | None]
) -> None:
    """137 alone does not tell our kill from the kernel's or a stranger's."""
    found = observed(seen("exited", **details), **memory)
    assert reported(plan(document(wanted()), found)) == expected


def test_the_engines_refusal_is_reported_in_its_own_words() -> None:
    """A missing image or command is the user's to mend, so the user reads what the engine said."""
    refused = {KEY: Refusal(message="no such image", final=True)}
    for what in (observed(refused=refused), observed(seen("created"), refused=refused)):
        (report,) = plan(document(wanted()), what)
        assert isinstance(report, ReportExited)
        assert (report.reason, report.message, report.final) == ("start_error", "no such image", 1)


def test_an_ended_container_stays_until_its_exit_is_in_the_log() -> None:
    """It leaves the document with the log's knowledge; before that, Docker is the only witness."""
    ended = seen("exited", exit_code=0)

    assert plan(document(wanted()), observed(ended, exited=frozenset({KEY}))) == ()
    assert plan(document(revision=11), observed(ended, exited=frozenset({KEY}))) == (
        SaveLogsAndRemove(key=KEY, name="a-g1-w0"),
    )


def test_an_orphan_is_stopped_politely_and_removed() -> None:
    """Its node was given up while it was away; the next generation runs elsewhere."""
    empty, running = document(revision=11), seen("running")

    assert plan(empty, observed(running)) == (
        Signal(key=KEY, name="a-g1-w0", signal=ORPHAN.signal),
    )
    over = {KEY: ORPHAN.grace_ms}
    assert plan(empty, observed(running, signalled_ms=over)) == (Kill(key=KEY, name="a-g1-w0"),)


def test_absence_from_an_older_document_means_nothing() -> None:
    """The container was made from a newer one, which will be read again soon."""
    assert plan(document(revision=9), observed(seen("running", revision=10))) == ()


def test_a_busy_container_is_left_alone() -> None:
    """What is seen of it may be older than what is being done."""
    assert plan(document(wanted()), observed(busy=frozenset({KEY}))) == ()


# What holds in every situation

KEYS = [("a", 1, 0), ("a", 1, 1), ("b", 1, 0)]
orders = st.sampled_from([None, STOP, attrs.evolve(STOP, grace_ms=1)])
details: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "revision": st.integers(0, 20),
        "state": st.sampled_from(["created", "running", "exited"]),
        "exit_code": st.sampled_from([0, 1, 137, 143]),
        "oom_killed": st.booleans(),
        "error": st.sampled_from(["", "cannot start"]),
    }
)
key_sets = st.frozensets(st.sampled_from(KEYS))
times = st.dictionaries(st.sampled_from(KEYS), st.integers(0, 60_000))


@st.composite
def documents(draw: st.DrawFn) -> NodeDocument:
    """Draw a document."""
    containers = [
        wanted(app_id, rank=rank, started=draw(st.booleans()), stop=draw(orders))
        for app_id, _, rank in KEYS
        if draw(st.booleans())
    ]
    return document(*containers, revision=draw(st.integers(0, 20)))


@st.composite
def observations(draw: st.DrawFn) -> Observed:
    """Draw what an agent may see and remember, sensible or not."""
    containers = [
        SeenContainer(
            name=f"{app_id}-g{generation}-w{rank}",
            app_id=app_id,
            generation=generation,
            rank=rank,
            **draw(details),
        )
        for app_id, generation, rank in KEYS
        if draw(st.booleans())
    ]
    return Observed(
        containers=tuple(containers),
        signalled_ms=draw(times),
        killed_ms=draw(times),
        launched_ms=draw(times),
        started=draw(key_sets),
        exited=draw(key_sets),
        refused=draw(st.dictionaries(st.sampled_from(KEYS), st.just(Refusal(message="refused")))),
    )


@given(documents(), observations())
def test_every_plan_settles_and_never_runs_anything_twice(
    document: NodeDocument, start: Observed
) -> None:
    """Carrying out plans ends in an empty one; nothing that may have run is made or started."""
    now, may_have_run = start, _may_have_run(document, start)
    for _ in range(8):
        actions = plan(document, now)
        assert len(actions) == len({action.key for action in actions})
        for action in actions:
            if isinstance(action, Create):
                assert action.key not in may_have_run
            if isinstance(action, Start):
                assert action.key not in now.exited
                may_have_run.add(action.key)
            if isinstance(action, SaveLogsAndRemove):
                _assert_removable(document, now, action.key)
            now = _carried_out(now, action)
        now = _later(now)
        if not actions:
            return
    pytest.fail(f"not settled: {plan(document, now)}")


def _may_have_run(document: NodeDocument, now: Observed) -> set[Key]:
    ran = {one.key for one in now.containers if one.state != "created"}
    by_document = {one.key for one in document.containers if one.started}
    return ran | by_document | now.launched_ms.keys() | now.started | now.exited


def _assert_removable(document: NodeDocument, now: Observed, key: Key) -> None:
    """Fail if a container is removed that runs, or whose end the log does not know."""
    (container,) = [one for one in now.containers if one.key == key]
    assert container.state != "running"
    if key in {one.key for one in document.containers}:
        assert container.state == "created"


def _carried_out(now: Observed, action: Action) -> Observed:
    """Return what is observed once an action is done, on an engine where all goes well."""
    key, others = action.key, tuple(one for one in now.containers if one.key != action.key)
    this = next((one for one in now.containers if one.key == key), None)
    changes: dict[str, object]
    match action:
        case Create():
            new = SeenContainer(
                name=action.wanted.name,
                app_id=key[0],
                generation=key[1],
                rank=key[2],
                revision=action.revision,
                state="created",
            )
            changes = {"containers": (*others, new)}
        case Start():
            assert this is not None
            running = attrs.evolve(this, state="running")
            changes = {"containers": (*others, running), "launched_ms": {**now.launched_ms, key: 0}}
        case Signal():
            changes = {"signalled_ms": {**now.signalled_ms, key: 0}}
        case Kill():
            assert this is not None
            dead = attrs.evolve(this, state="exited", exit_code=137)
            changes = {"containers": (*others, dead), "killed_ms": {**now.killed_ms, key: 0}}
        case ReportStarted():
            changes = {"started": now.started | {key}}
        case ReportExited():
            changes = {"exited": now.exited | {key}}
        case SaveLogsAndRemove():
            changes = {"containers": others}
        case _ as never:
            assert_never(never)
    return attrs.evolve(now, **changes)  # type: ignore[arg-type]


def _later(now: Observed) -> Observed:
    """Return what is observed when every grace time is over."""
    return attrs.evolve(
        now,
        launched_ms={key: ms + 60_000 for key, ms in now.launched_ms.items()},
        signalled_ms={key: ms + 60_000 for key, ms in now.signalled_ms.items()},
        killed_ms={key: ms + 60_000 for key, ms in now.killed_ms.items()},
    )
