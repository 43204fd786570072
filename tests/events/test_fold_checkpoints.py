"""What the fold makes of saved and rejected checkpoints."""

import pytest

from events.apps import CheckpointPolicy
from events.catalog import Event
from events.state import App, ClusterState
from tests import builders as b
from tests.checkpoint_builders import checkpoint_rejected, checkpoint_saved

RUNNING = (
    b.a_node("n1"),
    b.a_node("n2"),
    b.an_app("a"),
    b.a_layout({"a": {"n1": 1, "n2": 1}}),
    b.a_generation("a", "n1", "n2"),
    b.container_started("a", rank=0),
    b.container_started("a", rank=1, node_id="n2"),
)


def again(number: int, *, node_id: str = "n1") -> tuple[Event, ...]:
    """End generation `number` - 1, whose containers are both on known nodes, and start `number`."""
    old = number - 1
    ranks = ((0, "n1"), (1, "n2")) if old == 1 else ((0, node_id),)
    return (
        b.a_layout({"a": {node_id: 1}}, generation=number, decision_id=f"d{number}"),
        b.checkpoint_requested("a", generation=old),
        *(b.container_exited("a", rank=r, node_id=n, generation=old) for r, n in ranks),
        b.generation_stopped("a", generation=old),
        b.a_generation("a", node_id, generation=number),
    )


def app_after(*events: Event) -> App:
    """Return the application after these events."""
    return b.state_of(*events).apps["a"]


def steps(app: App) -> list[tuple[int, int]]:
    """Return which checkpoints are kept."""
    return [one.position for one in app.checkpoints]


def ignored(*events: Event) -> ClusterState:
    """Return the state after events of which the last makes no sense."""
    before, after = b.state_of(*events[:-1]), b.state_of(*events)
    assert before.apps == after.apps
    assert sum(before.ignored.values()) + 1 == sum(after.ignored.values())
    return after


def test_the_newest_whole_checkpoints_are_kept() -> None:
    """One damaged file must never be all there is."""
    saved = tuple(checkpoint_saved("a", step=step) for step in (10, 20, 30))

    assert [(1, 30), (1, 20)] == steps(app_after(*RUNNING, *saved))
    assert 30 == app_after(*RUNNING, *saved).checkpoint_step

    more = b.an_app("a", checkpoint=CheckpointPolicy(keep=3))
    assert 3 == len(app_after(RUNNING[0], RUNNING[1], more, *RUNNING[3:], *saved).checkpoints)


def test_an_application_that_does_not_count_saves_no_step() -> None:
    """Step 0 is no progress that `dorm show` could tell."""
    app = app_after(*RUNNING, checkpoint_saved("a", step=0))

    assert ([(1, 0)], None) == (steps(app), app.checkpoint_step)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (checkpoint_saved("a", generation=1, step=99), "generation is not the running one"),
        (checkpoint_saved("a", generation=3, step=99), "generation is not the running one"),
        (checkpoint_saved("a", generation=2, step=99, node_id="n2"), "rank belongs to another"),
        (checkpoint_saved("a", generation=2, step=10), "checkpoint is not newer"),
        (checkpoint_saved("a", generation=2, step=5), "checkpoint is not newer"),
        (checkpoint_saved("b", generation=2, step=99), "unknown app"),
    ],
)
def test_nobody_but_the_running_generation_moves_the_pointer(event: Event, reason: str) -> None:
    """A zombie of an older generation goes on saving, and changes nothing."""
    before = (
        *RUNNING,
        checkpoint_saved("a", step=40),
        *again(2),
        checkpoint_saved("a", generation=2, step=10),
    )

    state = ignored(*before, event)

    assert any(reason in why for why in state.ignored)


def test_a_generation_starts_from_what_was_saved_before_it() -> None:
    """What it saves itself is for the next one; a document must not change under it."""
    before = (*RUNNING, checkpoint_saved("a", step=40), checkpoint_saved("a", step=50))
    app = app_after(*before, *again(2), checkpoint_saved("a", generation=2, step=60))

    assert app.generation is not None
    assert [(1, 50), (1, 40)] == [seed.position for seed in app.generation.seeds]
    assert [(2, 60), (1, 50)] == steps(app)
    assert 50 == app.generation.first_step


def test_after_a_rejection_the_next_older_one_is_the_seed() -> None:
    """And speeds are counted from the step that the training really goes on from."""
    before = (
        *RUNNING,
        checkpoint_saved("a", step=40),
        checkpoint_saved("a", step=50),
        *again(2),
    )
    once = app_after(*before, checkpoint_rejected("a", step=50))
    assert once.generation is not None
    assert once.generation.seed is not None
    assert ((1, 40), 40) == (once.generation.seed.position, once.generation.first_step)

    twice = app_after(*before, checkpoint_rejected("a", step=50), checkpoint_rejected("a", step=40))
    assert twice.generation is not None
    assert (2, None) == (len(twice.generation.seeds), twice.generation.seed)
    assert 50 == twice.checkpoint_step


def test_a_damaged_checkpoint_is_tried_last_and_does_not_count_as_kept() -> None:
    """It may have been the disk of one node; and two whole ones are to be there all the same."""
    events = (
        *RUNNING,
        checkpoint_saved("a", step=40),
        checkpoint_saved("a", step=50),
        *again(2),
        checkpoint_rejected("a", step=50, reason="gone"),
    )
    app = app_after(*events, *again(3))
    assert app.generation is not None
    assert [(1, 40), (1, 50)] == [seed.position for seed in app.generation.seeds]
    assert [False, False] == [bool(seed.rejected) for seed in app.generation.seeds]

    saved = app_after(*events, checkpoint_saved("a", generation=2, step=60))
    assert [((2, 60), ""), ((1, 50), "gone"), ((1, 40), "")] == [
        (one.position, one.rejected) for one in saved.checkpoints
    ]


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (checkpoint_rejected("a", step=41), "does not start from that checkpoint"),
        (checkpoint_rejected("a", step=50), "does not start from that checkpoint"),
        (checkpoint_rejected("a", step=40, node_id="n2"), "rank belongs to another node"),
        (checkpoint_rejected("a", step=40, generation=1), "generation is not the running one"),
    ],
)
def test_a_rejection_of_anything_else_is_ignored(event: Event, reason: str) -> None:
    """Such as one that was sent twice, or by an agent that fell behind."""
    before = (
        *RUNNING,
        checkpoint_saved("a", step=40),
        checkpoint_saved("a", step=50),
        *again(2),
        checkpoint_rejected("a", step=50),
    )

    assert any(reason in why for why in ignored(*before, event).ignored)


def test_a_generation_that_began_to_run_has_no_more_say_about_its_seed() -> None:
    """It started from it, so it was whole."""
    before = (
        *RUNNING,
        checkpoint_saved("a", step=40),
        *again(2),
        b.container_started("a", generation=2),
    )

    ignored(*before, checkpoint_rejected("a", step=40))


def test_progress_that_was_only_saved_while_running_resets_the_retries() -> None:
    """A machine that burns down reports no exit, but its application got on."""
    app = app_after(*RUNNING, checkpoint_saved("a", step=40), b.node_lost("n1"))

    assert (40, None) == (app.checkpoint_step, app.failed_step)
