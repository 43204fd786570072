"""Documents are written by the leader in office only, and never go back."""

import attrs
import pytest

from dorm.master.publisher import Publisher
from dorm.ports import Delete
from events.codec import from_json, to_json
from events.errors import Fenced, Unavailable
from events.state import ClusterState
from reconcilers.documents import NodeDocument
from tests.builders import a_generation, a_layout, a_node, an_app, container_started, state_of
from tests.master.world import World, in_world

RUNNING = state_of(
    a_node("n1"),
    a_node("n2"),
    an_app("a"),
    a_layout({"a": {"n1": 1}}),
    a_generation("a", "n1"),
)
STARTED = state_of(
    a_node("n1"),
    a_node("n2"),
    an_app("a"),
    a_layout({"a": {"n1": 1}}),
    a_generation("a", "n1"),
    container_started("a"),
)


def stored(world: World, node_id: str) -> NodeDocument:
    """Return the document in the store."""
    item = world.store.get(world.keys.desired(node_id))
    assert item is not None
    return from_json(item.value, NodeDocument)


def test_only_what_changed_is_written() -> None:
    """An agent is woken only by news for it."""

    async def test(world: World) -> None:
        publisher = Publisher(world.etcd, world.keys, epoch=world.take_office())

        assert ("n1", "n2") == await publisher.publish(RUNNING)
        assert () == await publisher.publish(RUNNING)
        assert ("n1",) == await publisher.publish(STARTED)
        assert stored(world, "n1").containers[0].started

    in_world(test)


def test_a_master_that_lost_its_office_changes_nothing() -> None:
    """It was paused, and wakes up with a write in its hand."""

    async def test(world: World) -> None:
        old = Publisher(world.etcd, world.keys, epoch=world.take_office("m1"))
        await old.publish(RUNNING)
        epoch = replace_leader(world)
        await Publisher(world.etcd, world.keys, epoch=epoch).publish(STARTED)

        with pytest.raises(Fenced):
            await old.publish(attrs.evolve(STARTED, apps={}, revision=STARTED.revision + 1))
        assert stored(world, "n1").containers[0].started

    in_world(test)


def test_a_write_that_landed_late_is_noticed_and_read_again() -> None:
    """The same leader's older write may still arrive after its answer was given up."""

    async def test(world: World) -> None:
        publisher = Publisher(world.etcd, world.keys, epoch=world.take_office())
        await publisher.publish(RUNNING)
        late = attrs.evolve(stored(world, "n1"), containers=())
        world.write(world.keys.desired("n1"), to_json(late))

        with pytest.raises(Unavailable):
            await publisher.publish(STARTED)
        assert ("n1",) == await publisher.publish(STARTED)

    in_world(test)


def test_a_hundred_nodes_are_more_than_one_transaction_and_all_are_written() -> None:
    """A transaction takes 128 operations."""

    async def test(world: World) -> None:
        state: ClusterState = state_of(*(a_node(f"n{index:03}") for index in range(100)))
        publisher = Publisher(world.etcd, world.keys, epoch=world.take_office())

        written = await publisher.publish(state)

        assert 100 == len(written)
        assert 100 == len((await world.etcd.range(world.keys.desireds)).items)

    in_world(test)


def replace_leader(world: World) -> int:
    """Let another master take office."""
    world.store.txn((), (Delete(world.keys.leader),), ())
    return world.take_office("m2")
