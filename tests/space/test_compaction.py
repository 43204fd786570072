"""Old versions go, after some minutes; events never."""

from dorm.ports import Get
from dorm.space.compaction import Compactor
from tests.master.world import World, in_world


def a_compactor(world: World) -> Compactor:
    """One that compacts each minute to five minutes ago."""
    return Compactor(world.etcd, world.keys, clock=world.clock, every_s=60.0, history_s=300.0)


def test_the_store_is_compacted_to_what_was_the_present_minutes_ago() -> None:
    """A watch that hangs for less than that goes on without a gap."""

    async def test(world: World) -> None:
        compactor, revisions = a_compactor(world), []
        for _ in range(12):
            revisions.append(world.write(world.keys.status("n1"), b"x"))
            await compactor.step()
            await world.clock.sleep(61.0)

        assert world.store.compacted == revisions[6]
        found = await world.etcd.txn((), (Get(world.keys.status("n1")),))
        assert found.gets[0] is not None

    in_world(test)


def test_nothing_is_done_twice_or_too_often() -> None:
    """A compaction costs every member a walk over what it drops."""

    async def test(world: World) -> None:
        compactor, done = a_compactor(world), []
        world.write(world.keys.status("n1"), b"x")
        for _ in range(150):
            done.append(await compactor.step())
            await world.clock.sleep(5.0)

        assert 1 == sum(one is not None for one in done)

    in_world(test)


def test_with_little_room_left_less_history_is_kept() -> None:
    """Half a minute instead of five."""

    async def test(world: World) -> None:
        compactor = a_compactor(world)
        first = world.write(world.keys.status("n1"), b"x")
        await compactor.step(hard=True)
        world.write(world.keys.status("n1"), b"x")
        await world.clock.sleep(62.0)

        assert first == await compactor.step(hard=True)

    in_world(test)
