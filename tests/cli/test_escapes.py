"""What users and programs wrote reaches a terminal as text, never as orders to it."""

import json
from typing import Final

import pytest

from tests.api.world import World
from tests.builders import an_app, app_failed, app_quarantined
from tests.cli.conftest import Dorm

EVIL: Final = "a\x1b[31m\x07\x7f\x9b2J\u202e\u2028b"
OBEYED: Final = set(EVIL) - set("a[31m2Jb")


@pytest.fixture
def world() -> World:
    """Applications with such text wherever text may be."""
    return World(
        an_app("a", image=EVIL, start=(EVIL, "x"), env={"A": EVIL}),
        app_quarantined("a", reason=EVIL),
        an_app("b"),
        app_failed("b", reason=EVIL),
    )


@pytest.mark.parametrize(
    "command",
    [
        ("ps", "--all"),
        ("show", "a"),
        ("show", "b"),
        ("why", "a"),
        ("why", "b"),
        ("events",),
        ("cancel", EVIL),
        ("policy",),
        ("status",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("more", [(), ("-o", "json")], ids=["table", "json"])
def test_no_command_prints_what_a_terminal_obeys(
    command: tuple[str, ...], more: tuple[str, ...], dorm: Dorm
) -> None:
    """Nor what it cannot print at all."""
    output = dorm(*command, *more).output

    assert [letter for letter in output if letter in OBEYED] == []


def test_escaped_json_is_the_same_json(dorm: Dorm) -> None:
    """A program reads what was written."""
    page = json.loads(dorm("show", "a", "-o", "json").output)

    assert page["spec"]["env"] == {"A": EVIL}
