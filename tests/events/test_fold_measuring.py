"""What the fold learns of an application from its own runs: what a move costs, how fast it is."""

from collections.abc import Iterable

import pytest

from events.catalog import Event
from events.fold import fold
from events.log import MemoryLog
from events.recorded import Stamp
from events.rules.measuring import SIZES_MAX
from events.state import App, Progress
from tests import builders as b

S = 1_000
Timed = tuple[int, Event]


def app_after(*timed: Timed) -> App:
    """The application `a` after events at these times, in seconds; none was senseless."""
    log = MemoryLog()
    for at_s, event in timed:
        log.record(event, stamp=Stamp(at_ms=at_s * S, actor="master/m1"))
    state = fold(log.recorded)
    assert {} == state.ignored
    return state.apps["a"]


def run(number: int, size: int, *, from_s: int, until_s: int, step: int | None) -> Iterable[Timed]:
    """Generation `number` of `a`, from its decision to a resize's request and its end.

    Its containers start a second apart, the last one at `from_s`; it is gone 5 s after the request.
    """
    ranks = range(size)
    nodes = ["n1"] * size
    yield from_s - size, b.a_layout({"a": {"n1": size}}, generation=number)
    yield from_s - size, b.a_generation("a", *nodes, generation=number)
    for rank in ranks:
        yield from_s - size + rank + 1, b.container_started("a", rank=rank, generation=number)
    yield until_s, b.checkpoint_requested("a", generation=number)
    for rank in ranks:
        saved = step if rank == 0 else None
        exited = b.container_exited("a", rank=rank, generation=number, checkpoint_step=saved)
        yield until_s + 5, exited
    yield until_s + 5, b.generation_stopped("a", generation=number)


NODE_AND_APP = ((0, b.a_node("n1", cpus=100, memory_gib=100)), (0, b.an_app("a", max=50)))


def test_a_move_is_measured_from_its_request_to_the_last_start() -> None:
    """What a touch costs decides whether it pays; nobody knows it better than the log."""
    moved: tuple[Timed, ...] = (
        *NODE_AND_APP,
        *run(1, 1, from_s=10, until_s=100, step=None),
        *run(2, 2, from_s=140, until_s=200, step=None),
    )

    assert 0 == app_after(*moved[:8]).restart_ms
    assert 40 * S == app_after(*moved).restart_ms


def test_later_moves_count_for_a_quarter() -> None:
    """One slow pull of an image must not make an application untouchable."""
    app = app_after(
        *NODE_AND_APP,
        *run(1, 1, from_s=10, until_s=100, step=None),
        *run(2, 2, from_s=140, until_s=200, step=None),
        *run(3, 1, from_s=320, until_s=400, step=None),
    )

    assert (40 * 3 + 120) // 4 * S == app.restart_ms


@pytest.mark.parametrize(("took_s", "expected_s"), [(0, 1), (100_000, 1_800)])
def test_a_restart_is_bounded(took_s: int, expected_s: int) -> None:
    """Clocks that differ could make a move free, or make it cost days."""
    *moving, exited, stopped = run(1, 1, from_s=10, until_s=100, step=None)
    at_s = 100 + took_s
    app = app_after(
        *NODE_AND_APP,
        *moving,
        (100, exited[1]),
        (100, stopped[1]),
        (at_s, b.a_layout({"a": {"n1": 2}}, generation=2)),
        (at_s, b.a_generation("a", "n1", generation=2)),
        (at_s, b.container_started("a", generation=2)),
    )

    assert expected_s * S == app.restart_ms


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param((b.a_layout({"a": {}}, generation=2),), id="it queued for room"),
        pytest.param(
            (b.stop_requested("a", cause="failure", reason="container 0 is gone"),),
            id="it failed on the way",
        ),
    ],
)
def test_what_else_takes_time_is_no_part_of_a_move(meanwhile: tuple[Event, ...]) -> None:
    """A queue of hours would forbid every later move of the application."""
    *running, exited, stopped = run(1, 1, from_s=10, until_s=100, step=None)
    app = app_after(
        *NODE_AND_APP,
        *running,
        *((101, event) for event in meanwhile),
        exited,
        stopped,
        *run(3, 1, from_s=5_000, until_s=6_000, step=None),
    )

    assert 0 == app.restart_ms


def test_speed_is_learnt_from_saved_steps_at_each_size() -> None:
    """Users seldom know their speed curve; a few resizes show it."""
    app = app_after(
        *NODE_AND_APP,
        *run(1, 1, from_s=10, until_s=110, step=50),
        *run(2, 4, from_s=200, until_s=300, step=210),
        *run(3, 1, from_s=400, until_s=500, step=262),
    )

    assert {4: Progress(steps=160, ms=100 * S), 1: Progress(steps=102, ms=200 * S)} == app.speeds
    assert [4, 1] == list(app.speeds)


def test_a_training_that_begins_anew_tells_nothing_until_its_next_run() -> None:
    """A step that goes back is another training; the difference is no speed."""
    app = app_after(
        *NODE_AND_APP,
        *run(1, 1, from_s=10, until_s=110, step=500),
        *run(2, 1, from_s=200, until_s=300, step=40),
        *run(3, 2, from_s=400, until_s=500, step=140),
    )

    assert {1: Progress(steps=500, ms=100 * S), 2: Progress(steps=100, ms=100 * S)} == app.speeds
    assert 500 == app.checkpoint_step


@pytest.mark.parametrize("reason", ["killed", "oom", "lost", "start_error"])
def test_an_old_checkpoint_is_no_measure(reason: str) -> None:
    """What was not saved in time was trained all the same: the speed would be too low."""
    *running, _, stopped = run(1, 1, from_s=10, until_s=110, step=50)
    died = b.container_exited("a", exit_code=None, reason=reason, checkpoint_step=20)

    assert {} == app_after(*NODE_AND_APP, *running, (115, died), stopped).speeds


def test_a_run_that_nobody_asked_to_end_is_no_measure() -> None:
    """Its last checkpoint may be of any age, and its end was not a choice of ours."""
    *running, _, _, _ = run(1, 1, from_s=10, until_s=110, step=50)
    exited = b.container_exited("a", exit_code=0, checkpoint_step=50)

    assert {} == app_after(*NODE_AND_APP, *running, (115, exited)).speeds


def test_a_run_that_a_peer_s_failure_ended_is_no_measure() -> None:
    """Its other containers may have hung for hours before anybody saw it."""
    *running, _, _, _, _ = run(1, 2, from_s=10, until_s=110, step=50)
    app = app_after(
        *NODE_AND_APP,
        *running,
        (100, b.container_exited("a", rank=1, exit_code=1)),
        (110, b.stop_requested("a", cause="failure", reason="container 1 ended with exit code 1")),
        (115, b.container_exited("a", rank=0, checkpoint_step=50)),
    )

    assert ({}, 50) == (app.speeds, app.checkpoint_step)


def test_a_generation_that_never_ran_as_a_whole_is_no_measure() -> None:
    """Without its last container, most frameworks wait and train nothing."""
    events = list(run(1, 2, from_s=10, until_s=110, step=50))
    without_a_start = [timed for timed in events if timed[1] != b.container_started("a", rank=1)]

    assert {} == app_after(*NODE_AND_APP, *without_a_start).speeds


def test_few_sizes_are_kept_the_newest_ones() -> None:
    """A state is kept in memory and written often; it must not grow with every resize."""
    runs = [
        timed
        for size in range(1, SIZES_MAX + 4)
        for timed in run(
            size, size, from_s=1_000 * size, until_s=1_000 * size + 100, step=10 * size
        )
    ]
    app = app_after(*NODE_AND_APP, *runs)

    assert list(range(4, SIZES_MAX + 4)) == list(app.speeds)
