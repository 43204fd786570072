"""The demo's judgement can fail: each lie that it should find is told to it once."""

from typing import Any

import pytest

from deploy.demo.history import (
    ClaimFailed,
    Stretch,
    check_course,
    restarted,
    saved_steps,
    stretch_of,
)


def _stretch(generation: int, steps: tuple[int, int], losses: tuple[float, float]) -> Stretch:
    return Stretch(
        generation=generation,
        size=2,
        first_step=steps[0],
        first_loss=losses[0],
        last_step=steps[1],
        last_loss=losses[1],
    )


def _exit(generation: int, step: int | None, app_id: str = "a") -> dict[str, Any]:
    data = {"app_id": app_id, "generation": generation, "checkpoint_step": step}
    return {"kind": "container.exited/2", "data": data}


FIRST = _stretch(1, (0, 100), (2.3, 1.5))
GOOD = _stretch(2, (100, 300), (1.5, 0.4))


def test_output_is_summed_up_from_its_first_line_to_its_last() -> None:
    """Other lines, such as warnings, are between them."""
    output = (
        "step=100 loss=1.5000 world_size=2 generation=2\n"
        "a warning\n"
        "step=300 loss=0.4000 world_size=2 generation=2\n"
    )

    assert stretch_of(output) == GOOD
    assert stretch_of("nothing") is None


def test_a_course_that_went_on_from_each_checkpoint_is_good() -> None:
    """The plain case; it says nothing."""
    check_course("a", [FIRST, GOOD], {1: 100})


def test_a_step_back_behind_the_checkpoint_is_found() -> None:
    """It would be saved work that was lost."""
    back = _stretch(2, (60, 300), (1.5, 0.4))

    with pytest.raises(ClaimFailed, match="step 100 was saved, but generation 2 began again at"):
        check_course("a", [FIRST, back], {1: 100})


def test_a_step_back_is_found_over_a_generation_that_saved_nothing() -> None:
    """A generation that is stopped before its first step leaves the older checkpoint in force."""
    course = [FIRST, _stretch(2, (100, 100), (1.5, 1.5)), _stretch(3, (0, 90), (2.3, 1.4))]

    with pytest.raises(ClaimFailed, match="generation 3 began again at step 0"):
        check_course("a", course, {1: 100})


def test_a_loss_that_does_not_fall_is_found() -> None:
    """Weights that were not restored show in the loss, even when the step counter goes on."""
    worse = _stretch(2, (100, 300), (2.3, 1.6))

    with pytest.raises(ClaimFailed, match=r"1\.5000 at the end of generation 1 and 1\.6000"):
        check_course("a", [FIRST, worse], {1: 100})


def test_the_newest_checkpoint_of_each_generation_counts() -> None:
    """Only rank 0 reports one; other applications and other events are not ours."""
    events = [_exit(1, None), _exit(1, 100), _exit(2, 300), _exit(1, 900, app_id="b")]
    events.append({"kind": "app.completed/1", "data": {"app_id": "a"}})

    assert saved_steps(events, "a") == {1: 100, 2: 300}


def test_a_restarted_or_missing_container_is_found() -> None:
    """A container that Docker started again has the same id and another start."""
    before = {"one": "10:00", "two": "10:00", "three": "10:00"}

    assert restarted(before, {**before, "four": "10:05"}) == []
    assert restarted(before, {"one": "10:00", "two": "10:09"}) == ["three", "two"]
