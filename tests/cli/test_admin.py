"""`dorm admin new-epoch`, and what the other commands say while masters hold."""

from tests.api.world import World
from tests.cli.conftest import Dorm


def test_it_explains_and_asks(dorm: Dorm, world: World) -> None:
    """A command that cannot be taken back must not be a slip of the finger."""
    result = dorm("admin", "new-epoch", text="n\n")

    assert result.exit_code != 0
    assert "stopped as orphans" in result.output
    assert "No agent or master has raised an alarm" in result.output
    assert [] == world.view.begun


def test_with_yes_it_is_done(dorm: Dorm, world: World) -> None:
    """For scripts, and for those who have read it before."""
    result = dorm("admin", "new-epoch", "--yes")

    assert result.exit_code == 0
    assert "epoch 2 has begun" in result.output
    assert [1] == world.view.begun


def test_status_shows_why_nothing_happens_and_the_way_out(dorm: Dorm, world: World) -> None:
    """The first command that anybody tries."""
    world.view.held = "the store stands at revision 4, but 9 was seen"
    output = dorm("status").output

    assert "HELD" in output
    assert "revision 4" in output
    assert "dorm admin new-epoch" in output


def test_every_command_says_that_what_it_shows_is_stale(dorm: Dorm, world: World) -> None:
    """Old numbers that look new are worse than none."""
    world.view.stale = True

    assert "STALE, 42 s old" in dorm("ps").output
