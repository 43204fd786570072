"""A planner that dies at a fail point: the master hears of it, and the next one decides."""

import pytest

from dorm import failpoints
from dorm.planner.pipe import COMMAND
from tests.builders import a_node, an_app, state_of
from tests.crashes.points import PLANNER
from tests.planner.conftest import NewPlanner


@pytest.mark.parametrize("name", PLANNER)
async def test_a_planner_that_dies_there_costs_a_decision_and_nothing_else(
    name: str, new_planner: NewPlanner
) -> None:
    """Every child dies, the greedy one too, so nothing is decided; then all is well again."""
    state = state_of(a_node("n1"), an_app("a"))
    deadly = new_planner(command=("env", f"{failpoints.VARIABLE}={name}:exit", *COMMAND))

    dead = await deadly.plan(state)
    sound = await new_planner(command=COMMAND, memory_bytes_max=4 << 30, cpu_s_max=60).plan(state)

    assert (f"{failpoints.EXIT_CODE}" in dead.fallback, dead.decisions) == (True, ())
    assert ("", 1) == (sound.fallback, len(sound.decisions))
