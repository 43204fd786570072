"""A planner with real children, which the test's end ends."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from dorm.clock import SystemClock, SystemRandomness
from dorm.config import PlannerConfig
from dorm.planner.supervisor import ChildPlanner
from tests.planner.programs import COMMAND

NewPlanner = Callable[..., ChildPlanner]


@pytest.fixture
async def new_planner() -> AsyncIterator[NewPlanner]:
    """A function that makes planners, with limits that a test does not have to wait for."""
    planners: list[ChildPlanner] = []

    def make(*, command: Sequence[str] = COMMAND, **limits: Any) -> ChildPlanner:  # noqa: ANN401 - any limit
        config = PlannerConfig(**{"memory_bytes_max": 2 << 30, "cpu_s_max": 20, **limits})
        clock, randomness = SystemClock(), SystemRandomness()
        planners.append(ChildPlanner(config, clock=clock, randomness=randomness, command=command))
        return planners[-1]

    yield make
    for planner in planners:
        await planner.close()
