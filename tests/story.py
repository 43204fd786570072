"""given(events).when(plan).then(events): the shape of every behaviour test."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from events.catalog import Event
from events.invariants import check
from events.state import ClusterState
from tests.builders import state_of

Planned = TypeVar("Planned")


@attrs.frozen
class Told(Generic[Planned]):
    """What was planned in a situation."""

    planned: tuple[Planned, ...]

    def then(self, *expected: Planned) -> None:
        """Fail unless exactly `expected` was planned, in that order."""
        assert expected == self.planned


@attrs.frozen
class Story:
    """A situation: what a history adds up to."""

    state: ClusterState

    def when(
        self,
        plan: Callable[..., tuple[Planned, ...]],
        *more: Any,  # noqa: ANN401 - whatever the plan reads beside the state
    ) -> Told[Planned]:
        """Return what `plan` makes of the state, and of whatever else it reads."""
        return Told(plan(self.state, *more))


def given(*events: Event) -> Story:
    """Return the story that begins with these events; its state must be sound."""
    return Story(check(state_of(*events)))
