"""An absence counts only while the leader itself has looked without a gap."""

from dorm.master.presence import GAP_S_MAX, Presence
from dorm.master.promises import Promises
from tests import builders as b
from tests.master.world import World, in_world

ONE = b.state_of(b.a_node("n1", tenure="t1"))
TWO = b.state_of(b.a_node("n1", tenure="t1"), b.a_node("n2", tenure="t2"))


def _presence(world: World) -> Presence:
    return Presence(
        world.etcd,
        world.keys,
        epoch=1,
        promises=Promises(world.clock),
        clock=world.clock,
        grace_s=10,
    )


def test_a_node_without_a_lease_grows_absent_from_the_first_look_on() -> None:
    """However long it was gone before this leader took office."""

    async def test(world: World) -> None:
        world.write(world.keys.node("n1"), b"here")
        presence = _presence(world)

        first = await presence.look(TWO)
        await world.clock.sleep(1)
        second = await presence.look(TWO)

        assert {"n2": 0} == first.absent_ms
        assert ["n2"] == list(second.absent_ms)
        assert 1_000 <= second.absent_ms["n2"] < 1_200

    in_world(test)


def test_a_gap_in_looking_starts_every_timer_anew() -> None:
    """A leader that was paused, or cut off from etcd, has not watched the absence."""

    async def test(world: World) -> None:
        presence = _presence(world)
        await presence.look(TWO)
        await world.clock.sleep(GAP_S_MAX + 0.1)

        assert {"n1": 0, "n2": 0} == (await presence.look(TWO)).absent_ms

    in_world(test)


def test_a_node_that_comes_back_starts_from_nothing_the_next_time() -> None:
    """Two short absences are not one long one."""

    async def test(world: World) -> None:
        presence = _presence(world)
        await presence.look(ONE)
        await world.clock.sleep(1)
        world.write(world.keys.node("n1"), b"here")
        await presence.look(ONE)

        assert {} == (await presence.look(ONE)).absent_ms

    in_world(test)
