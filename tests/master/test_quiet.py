"""When to plan after a change."""

from dorm.master.quiet import DELAY_FACTOR, MOMENT_S_MAX, Quiet
from tests.master.world import World, in_world


def test_a_change_waits_until_it_has_been_quiet_for_a_moment() -> None:
    """One plan for a burst of submits."""

    async def test(world: World) -> None:
        quiet = Quiet(world.clock)
        quiet.look("p1", apps=10, is_urgent=False)
        await world.clock.sleep(0.08)
        quiet.look("p2", apps=10, is_urgent=False)
        await world.clock.sleep(0.08)

        assert 0 < (quiet.due_in_s or 0) < 0.03
        await world.clock.sleep(0.03)
        assert 0 == quiet.due_in_s

    in_world(test)


def test_changes_without_end_do_not_put_a_plan_off_for_ever() -> None:
    """A busy cluster needs a layout too."""

    async def test(world: World) -> None:
        quiet = Quiet(world.clock)
        for index in range(DELAY_FACTOR * 2 + 1):
            quiet.look(f"p{index}", apps=1_000, is_urgent=False)
            await world.clock.sleep(MOMENT_S_MAX / 2)

        assert 0 == quiet.due_in_s
        quiet.look("another", apps=1_000, is_urgent=False)
        assert 0 == quiet.due_in_s

    in_world(test)


def test_what_is_urgent_is_due_at_once_and_stays_so() -> None:
    """A change behind it must not take that back."""

    async def test(world: World) -> None:
        quiet = Quiet(world.clock)
        quiet.look("p1", apps=1_000, is_urgent=True)
        quiet.look("p2", apps=1_000, is_urgent=False)

        assert 0 == quiet.due_in_s

    in_world(test)


def test_the_same_problem_seen_again_is_no_change() -> None:
    """Most events change nothing for the layout."""

    async def test(world: World) -> None:
        quiet = Quiet(world.clock)
        for _ in range(3):
            quiet.look("p1", apps=10, is_urgent=False)
            await world.clock.sleep(0.05)

        assert 0 == quiet.due_in_s

    in_world(test)


def test_a_settled_problem_tells_how_long_it_was_open() -> None:
    """The latency that users notice, whatever became of plans on the way."""

    async def test(world: World) -> None:
        quiet = Quiet(world.clock)
        quiet.look("p1", apps=10, is_urgent=False)
        await world.clock.sleep(2)

        assert round(quiet.settled() or 0, 6) == 2
        assert quiet.settled() is None
        assert quiet.due_in_s is None

    in_world(test)
