"""Etcd, log, disk or engine are away, or the name is taken: an agent waits, and loses nothing."""

import asyncio

import pytest

from dorm.agent.registration import Holder
from dorm.ports.etcd import Compare, Delete, Put
from events.apps import Mount
from events.codec import to_json
from tests.agent.desk import KEYS, NODE, Desk, exits, play, wanted

WORK = Mount(name="work", target="/scratch")
SAVING = wanted(mounts=(WORK,), checkpoint_path="/scratch/ckpt/a")
NAME = "a-g1-w0"


@pytest.mark.parametrize("unheard", [False, True])
def test_reports_wait_on_disk_while_the_log_is_away(unheard: bool) -> None:  # noqa: FBT001 - a case
    """An exit is never forgotten, even when the agent restarts in the outage."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.log.available, desk.log.writes_unheard = False, unheard
        desk.docker.end(NAME, exit_code=3)
        await asyncio.sleep(60)
        assert len(exits(desk)) == int(unheard)
        if not unheard:
            desk.process.kill()
            desk.start()
            await asyncio.sleep(30)
        desk.log.available = True
        await desk.until(lambda: bool(exits(desk)))
        await asyncio.sleep(30)

        (event,) = exits(desk)
        assert event.exit_code == 3
        assert desk.state() == "exited"

    play(story)


def test_containers_run_on_while_etcd_is_away() -> None:
    """No lease, no watch, no log: nothing of that is a reason to touch a training."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.store.set_quorum(quorum=False)
        desk.log.available = False
        await asyncio.sleep(300)
        assert desk.state() == "running"
        assert desk.docker.signals == []

        desk.store.set_quorum(quorum=True)
        desk.log.available = True
        desk.order(12, wanted(started=True), wanted("b"))
        await desk.until_running("b-g1-w0")

    play(story)


def test_an_agent_lives_through_a_full_disk() -> None:
    """Found by the simulation (seed 14): the note that a report was sent failed, and killed it."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.log.available = False
        desk.docker.end(NAME, exit_code=3)
        await asyncio.sleep(30)
        desk.disk.full = desk.log.available = True
        await desk.until(lambda: bool(exits(desk)))
        await asyncio.sleep(60)
        assert desk.process.failure is None

        desk.disk.full = False
        desk.order(12)
        await desk.until(lambda: desk.state() == "absent")
        assert len(exits(desk)) == 1

    play(story)


def test_a_lost_lease_is_taken_again_as_the_same_agent() -> None:
    """Etcd revokes leases of healthy agents now and then; that must cost nothing."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        await asyncio.sleep(5)  # Its status is written, so only the lease itself can tell.
        before = desk.store.get(KEYS.node(NODE))
        assert before is not None
        desk.store.revoke(before.lease)
        await desk.until(lambda: desk.store.get(KEYS.node(NODE)) is not None)
        after = desk.store.get(KEYS.node(NODE))

        assert after is not None
        assert after.value == before.value
        assert after.lease != before.lease
        await asyncio.sleep(10)
        assert desk.docker.starts == {NAME: 1}
        assert desk.events().count("NodeReported") == 1

    play(story)


def test_a_node_key_that_somebody_deleted_is_made_again() -> None:
    """The lease alone lives on and says nothing; the guarded status write notices."""

    async def story(desk: Desk) -> None:
        desk.start()
        key = KEYS.node(NODE)
        await desk.until(lambda: desk.store.get(key) is not None)
        await asyncio.sleep(5)
        desk.store.txn((), (Delete(key),), ())
        desk.order(10, wanted())  # The status changes, so it is written.
        await desk.until(lambda: desk.store.get(key) is not None)

    play(story)


def test_a_second_agent_of_the_same_name_touches_nothing() -> None:
    """Two machines with one name would each start the same ranks."""

    async def story(desk: Desk) -> None:
        holder = Holder(agent_id="another machine's", incarnation="x")
        guard = Compare(KEYS.node(NODE), "create", 0)
        desk.store.txn((guard,), (Put(KEYS.node(NODE), to_json(holder)),), ())
        desk.order(10, wanted())
        desk.start()
        await asyncio.sleep(60)
        assert desk.docker.launches == {}
        assert desk.events() == []

        desk.store.txn((), (Delete(KEYS.node(NODE)),), ())
        await desk.until_running()

    play(story)


def test_a_docker_outage_is_waited_out() -> None:
    """Nothing is lost or reported because the daemon was restarted."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.docker.available = False
        desk.order(11, wanted(started=True), wanted("b"))
        await asyncio.sleep(120)
        assert exits(desk) == []

        desk.docker.available = True
        await desk.until_running("b-g1-w0")
        assert desk.docker.starts == {NAME: 1, "b-g1-w0": 1}

    play(story)
