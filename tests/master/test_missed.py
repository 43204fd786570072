"""A watch that loses an event, as etcd's can: found by listing, and repaired by beginning anew."""

import asyncio
from collections.abc import AsyncIterator

import attrs

from dorm.ports.etcd import WatchEvent
from tests.builders import BY_TEST, an_app
from tests.master.test_master import a_master, facts
from tests.master.world import World, in_world
from tests.simulation.etcd import NetworkFaults, SimEtcdClient


class Forgetful(SimEtcdClient):
    """Its watches leave out what contains a word, and deliver what comes after."""

    word = b"lost-one"

    def watch(self, prefix: str, *, start_revision: int) -> AsyncIterator[tuple[WatchEvent, ...]]:
        """See `Etcd`."""
        return self._without(prefix, start_revision)

    async def _without(
        self, prefix: str, start_revision: int
    ) -> AsyncIterator[tuple[WatchEvent, ...]]:
        async for batch in super().watch(prefix, start_revision=start_revision):
            yield tuple(one for one in batch if self.word not in one.item.value)


def test_an_event_that_a_watch_lost_is_found_and_no_snapshot_keeps_the_hole() -> None:
    """A master with a hole in its state would decide from another history than all others."""

    async def test(sound: World) -> None:
        etcd = Forgetful(sound.store, sound.process, NetworkFaults())
        world = attrs.evolve(sound, etcd=etcd)
        master = a_master(world, snapshot_every=5)
        running = asyncio.create_task(master.run())
        await world.clock.sleep(3)
        user = sound.log("user")
        await user.submit(an_app("lost-one"), key="a", stamp=BY_TEST)
        for index in range(8):
            await user.submit(an_app(f"b{index}"), key=f"b{index}", stamp=BY_TEST)
        await world.clock.sleep(10)
        assert "lost-one" not in master.state().apps
        assert sound.store.get(sound.keys.snapshot_latest) is None
        await world.clock.sleep(50)

        assert "lost-one" in master.state().apps
        assert not master.hold()
        assert master.state().revision == (await facts(sound))[-1].revision
        running.cancel()

    in_world(test)
