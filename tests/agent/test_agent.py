"""The agent as a whole, on stand-ins: what it does for its containers, whatever happens to it."""

import asyncio
from contextlib import aclosing

import attrs
import pytest

from dorm import labels
from dorm.status import NodeStatus, Progress
from events.apps import Mount
from events.codec import from_json
from events.errors import NotFound
from events.nodes import NodeReported
from tests.agent.desk import CONFIG, KEYS, NODE, STOP, Desk, exits, play, wanted

WORK = Mount(name="work", target="/scratch")
SAVING = wanted(mounts=(WORK,), checkpoint_path="/scratch/ckpt/a")
NAME = "a-g1-w0"


def test_an_order_becomes_a_running_container() -> None:
    """The node registers, reports itself, runs what is wanted, and says so in the log."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()

        assert desk.events() == ["NodeReported", f"ContainerStarted {NAME}"]
        launch = desk.docker.launches[NAME]
        assert labels.carries(launch.labels, labels.of_node("test", NODE))
        assert launch.labels[labels.REVISION] == "10"
        assert desk.disk.tree("/state")[f"/state/run/{NAME}/membership.json"]
        node_key = desk.store.get(KEYS.node(NODE))
        assert node_key is not None
        assert node_key.lease

    play(story)


def test_a_new_agent_adopts_what_runs() -> None:
    """Nothing restarts because an agent did, and nothing is reported a second time."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.process.kill()
        desk.start()
        await desk.until(lambda: desk.events().count("NodeReported") == 2)
        await asyncio.sleep(20)

        assert desk.docker.starts == {NAME: 1}
        assert desk.events().count(f"ContainerStarted {NAME}") == 1
        one, two = (e.event for e in desk.log.recorded if isinstance(e.event, NodeReported))
        assert one.incarnation != two.incarnation

    play(story)


def test_an_exit_is_reported_with_the_checkpoint_before_the_container_goes() -> None:
    """Docker is the only witness until the log knows; the output outlives the container."""

    async def story(desk: Desk) -> None:
        desk.order(10, SAVING)
        desk.start()
        await desk.until_running()
        desk.write("model", b"weights")
        desk.write("checkpoint.json", b'{"step": 120}')
        desk.docker.end(NAME, exit_code=0)
        await desk.until(lambda: bool(exits(desk)))
        await asyncio.sleep(10)
        assert desk.state() == "exited"

        desk.order(11)
        await desk.until(lambda: desk.state() == "absent")

        (event,) = exits(desk)
        assert (event.exit_code, event.reason, event.checkpoint_step) == (0, "exited", 120)
        output = [chunk async for chunk in desk.agent.logs("a", 1, 0, follow=True)]
        assert output == [f"output of {NAME}\n".encode()]
        await desk.until(lambda: not desk.disk.tree("/state").get(f"/state/run/{NAME}"))

    play(story)


def test_a_stop_that_is_not_obeyed_ends_in_a_kill() -> None:
    """On time: the partition has to move on, and the reason is told apart from a crash."""

    async def story(desk: Desk) -> None:
        desk.docker.deaf = True
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        began = asyncio.get_running_loop().time()
        desk.order(11, wanted(started=True, stop=STOP))
        await desk.until(lambda: bool(exits(desk)))

        assert desk.docker.signals == [(NAME, "SIGTERM"), (NAME, "SIGKILL")]
        assert exits(desk)[0].reason == "killed"
        assert 10 <= asyncio.get_running_loop().time() - began < 12

    play(story)


def test_the_grace_time_goes_on_while_the_agent_is_away() -> None:
    """A restart of the agent neither signals a second time nor gives the grace time anew."""

    async def story(desk: Desk) -> None:
        desk.docker.deaf = True
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        began = asyncio.get_running_loop().time()
        desk.order(11, wanted(started=True, stop=STOP))
        await desk.until(lambda: bool(desk.docker.signals))
        await asyncio.sleep(4)
        desk.process.kill()
        desk.start()
        await desk.until(lambda: bool(exits(desk)))

        assert desk.docker.signals == [(NAME, "SIGTERM"), (NAME, "SIGKILL")]
        assert asyncio.get_running_loop().time() - began < 12

    play(story)


def test_what_a_node_cannot_run_is_reported_with_the_way_out() -> None:
    """The user reads which mount is missing and what there is, instead of a silent node."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted(mounts=(Mount(name="other", target="/x"),)))
        desk.start()
        await desk.until(lambda: bool(exits(desk)))

        (event,) = exits(desk)
        assert event.reason == "start_error"
        assert "other" in event.message
        assert "data, work" in event.message
        assert not desk.docker.launches

    play(story)


def test_a_slow_image_does_not_hold_up_other_containers() -> None:
    """Pulling takes minutes; a stop of a neighbour must not wait for it."""

    async def story(desk: Desk) -> None:
        desk.docker.slow["huge"] = 300
        desk.order(10, wanted(image="huge"), wanted("b"))
        desk.start()
        await desk.until_running("b-g1-w0")
        desk.order(11, wanted(image="huge"), wanted("b", started=True, stop=STOP))
        await desk.until(lambda: "ContainerExited b-g1-w0 exited" in desk.events(), within_s=10)
        assert desk.state() == "absent"

        await desk.until(lambda: desk.state() == "running", within_s=400)
        assert desk.docker.creates[NAME] == 1

    play(story)


def test_an_older_document_is_not_believed() -> None:
    """A restored etcd would otherwise have stopped containers started again."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.order(9, wanted("old"))
        await asyncio.sleep(40)
        desk.process.kill()
        desk.start()
        await asyncio.sleep(40)

        assert list(desk.docker.launches) == [NAME]

    play(story)


def test_the_status_tells_the_progress_of_rank_zero() -> None:
    """`dorm ps` shows steps; what makes no sense in the file is left out."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted(), wanted("b"))
        desk.start()
        await desk.until_running("b-g1-w0")
        files = desk.disk.tree("/state")
        files[f"/state/run/{NAME}/progress.json"] = b'{"step": 7, "total": 9, "loss": 0.5}'
        files["/state/run/b-g1-w0/progress.json"] = b"[[[["
        await asyncio.sleep(3)

        found = desk.store.get(KEYS.status(NODE))
        assert found is not None
        status = from_json(found.value, NodeStatus)
        assert status.progress == {"a": Progress(generation=1, step=7, total=9, loss=0.5)}
        assert status.document_revision == 10

    play(story)


@pytest.mark.parametrize("step", range(1, 60, 2))
def test_an_agent_that_dies_at_any_step_starts_nothing_twice(step: int) -> None:
    """The crash points of a whole life: made, started, reported, stopped, reported, removed."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await asyncio.sleep(step * 0.01)
        desk.process.kill()
        desk.start()
        await desk.until_running()
        desk.order(11, wanted(started=True, stop=STOP))
        await asyncio.sleep(step * 0.01)
        desk.process.kill()
        desk.start()
        await desk.until(lambda: bool(exits(desk)))
        desk.order(12)
        await asyncio.sleep(step * 0.01)
        desk.process.kill()
        desk.start()
        await desk.until(lambda: desk.state() == "absent")

        assert desk.docker.starts == {NAME: 1}
        assert {(event.reason, event.exit_code) for event in exits(desk)} == {("exited", 0)}

    play(story)


def test_a_container_that_vanished_before_it_was_reported_is_lost() -> None:
    """It may have run, for all anyone knows, so it is not made a second time."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.docker.started.wait()
        desk.process.kill()
        del desk.docker.there[NAME]
        desk.start()
        await desk.until(lambda: bool(exits(desk)))

        assert exits(desk)[0].reason == "lost"
        assert desk.docker.starts == {NAME: 1}

    play(story)


def test_output_that_is_nowhere_is_not_found() -> None:
    """The reader learns that it will not come, instead of waiting."""

    async def story(desk: Desk) -> None:
        desk.start(attrs.evolve(CONFIG, relist_s=1.0))
        await desk.until(lambda: "NodeReported" in desk.events())
        async with aclosing(desk.agent.logs("a", 1, 0, follow=False)) as output:
            with pytest.raises(NotFound, match="no output"):
                await anext(output)

    play(story)
