"""A new kind of event is complete only with all that belongs to it; this fails until it has it."""

from collections.abc import Callable
from typing import get_args

from events.catalog import CATALOG, KIND_OF, Event
from tests import builders, checkpoint_builders
from tests.golden.write import EXAMPLES
from tests.strategies import EVENTS

NOUNS = {"AppSubmitted": "an_app", "NodeReported": "a_node", "LayoutDecided": "a_layout"} | {
    "GenerationStarted": "a_generation"
}


def test_every_kind_of_event_has_one_wire_name() -> None:
    """Two classes under one name, or one under two, could not be told apart when read."""
    assert set(get_args(Event)) == set(CATALOG.values()) == set(KIND_OF)
    assert len(CATALOG) == len(KIND_OF)


def test_every_kind_has_a_strategy_an_example_and_a_builder() -> None:
    """Properties and stories cover a kind only when they can make one."""
    kinds = set(CATALOG.values())
    names = {NOUNS.get(kind.__name__, snake_case(kind.__name__)) for kind in kinds}

    assert kinds == set(EVENTS)
    assert kinds == {type(event) for event in EXAMPLES}
    made = {type(_builder(name)()) for name in names - {"a_layout"}}
    assert kinds == made | {type(builders.a_layout({}))}


def _builder(name: str) -> Callable[[], Event]:
    builder: Callable[[], Event] | None = getattr(builders, name, None)
    return builder or getattr(checkpoint_builders, name)


def snake_case(name: str) -> str:
    """`NodeLost` to `node_lost`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
