"""The agent when images do not come, disks are full, and engines take containers with them."""

import asyncio

import attrs
import pytest

from dorm.agent.hands import PULLING_S
from dorm.status import NodeStatus
from events.codec import from_json
from events.generations import ContainerExited
from tests.agent.desk import KEYS, NODE, STOP, Desk, play, wanted

NAME = "a-g1-w0"


def exits(desk: Desk) -> list[ContainerExited]:
    """Return the exits in the log."""
    found = [recorded.event for recorded in desk.log.recorded]
    return [event for event in found if isinstance(event, ContainerExited)]


def held(desk: Desk) -> dict[str, str]:
    """Return what the node says that it cannot make yet."""
    found = desk.store.get(KEYS.status(NODE))
    return dict(from_json(found.value, NodeStatus).held) if found else {}


def test_a_registry_that_is_away_is_asked_again_while_others_start() -> None:
    """No retry is used up; the user reads what is waited for, and the next start is no failure."""

    async def story(desk: Desk) -> None:
        desk.docker.away.add("far")
        desk.order(10, wanted(image="far"), wanted("b"))
        desk.start()
        await desk.until_running("b-g1-w0")
        await desk.until(lambda: held(desk) == {NAME: "image far could not be pulled"})
        await asyncio.sleep(PULLING_S / 2)

        desk.docker.away.clear()
        await desk.until_running()
        await desk.until(lambda: held(desk) == {})
        assert exits(desk) == []
        assert desk.docker.starts[NAME] == 1

    play(story)


def test_a_registry_that_stays_away_fails_its_application_in_the_end() -> None:
    """Every wait has a limit. A later retry may find the registry again."""

    async def story(desk: Desk) -> None:
        desk.docker.away.add("far")
        desk.order(10, wanted(image="far"))
        desk.start()
        await desk.until(lambda: bool(exits(desk)), within_s=PULLING_S + 30)

        (event,) = exits(desk)
        assert (event.reason, event.final) == ("start_error", False)
        assert "could not be pulled" in event.message
        assert desk.docker.creates[NAME] > PULLING_S / 10

    play(story)


@pytest.mark.parametrize(("images", "final"), [("missing", True), ("refused", False)])
def test_only_what_runs_nowhere_is_final(images: str, final: bool) -> None:  # noqa: FBT001 - a case
    """An image that does not exist fails at once; what this node cannot do another one may."""

    async def story(desk: Desk) -> None:
        getattr(desk.docker, images).add("image")
        desk.order(10, wanted())
        desk.start()
        await desk.until(lambda: bool(exits(desk)), within_s=5)

        (event,) = exits(desk)
        assert (event.reason, event.final) == ("start_error", final)
        assert desk.docker.creates[NAME] == 1

    play(story)


@pytest.mark.parametrize("final", [True, False])
def test_a_command_that_is_not_there_is_final(final: bool) -> None:  # noqa: FBT001 - a case
    """The code tells it from what may pass, such as a network that is gone."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.docker.end(NAME, exit_code=127 if final else 128, error="exec /train failed")
        await desk.until(lambda: bool(exits(desk)))

        (event,) = exits(desk)
        assert (event.reason, event.final) == ("start_error", final)

    play(story)


def test_a_stop_does_not_wait_for_an_image() -> None:
    """Whoever cancels an application whose image takes minutes has the room back at once."""

    async def story(desk: Desk) -> None:
        desk.docker.slow["huge"] = 600
        desk.order(10, wanted(image="huge"))
        desk.start()
        await desk.until(lambda: desk.docker.creates[NAME] == 1)
        desk.order(11, wanted(image="huge", stop=STOP))
        await desk.until(lambda: bool(exits(desk)), within_s=10)
        await asyncio.sleep(1000)

        assert [event.reason for event in exits(desk)] == ["lost"]
        assert desk.docker.starts == {}

    play(story)


def test_a_full_disk_holds_up_new_containers_and_no_others() -> None:
    """A node under disk pressure takes no work, says so, and ends nothing for it."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.disk.free_bytes = 1 << 20
        desk.order(11, wanted(started=True), wanted("b"))
        await desk.until(lambda: "b-g1-w0" in held(desk))
        await asyncio.sleep(300)

        assert "disk pressure: /state has 1 MiB left" in held(desk)["b-g1-w0"]
        assert desk.state("b-g1-w0") == "absent"
        assert desk.state() == "running"
        assert desk.docker.signals == []

        desk.disk.free_bytes = 1 << 30
        await desk.until_running("b-g1-w0")
        assert exits(desk) == []

    play(story)


def test_a_stop_goes_through_although_nothing_can_be_written() -> None:
    """The container may be what fills the disk; its end is reported once there is room."""

    async def story(desk: Desk) -> None:
        desk.docker.deaf = True
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.disk.full = True
        desk.order(11, wanted(started=True, stop=STOP))
        await desk.until(lambda: desk.state() == "exited")
        await asyncio.sleep(60)

        assert desk.docker.signals == [(NAME, "SIGTERM"), (NAME, "SIGKILL")]
        assert exits(desk) == []

        desk.disk.full = False
        await desk.until(lambda: bool(exits(desk)))
        assert [event.reason for event in exits(desk)] == ["killed"]
        assert desk.process.failure is None

    play(story)


def test_a_disk_that_fills_up_while_a_report_is_sent_does_not_end_the_agent() -> None:
    """It notes only later that the log has the report."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()

        def fill() -> None:
            desk.disk.full = True

        desk.log.on_append = fill
        desk.docker.end(NAME, exit_code=0)
        await desk.until(lambda: bool(exits(desk)))
        await asyncio.sleep(60)
        desk.order(11, wanted("b"))
        await asyncio.sleep(10)
        assert desk.process.failure is None
        assert desk.state("b-g1-w0") == "absent"

        desk.disk.full = False
        desk.log.on_append = lambda: None
        await desk.until_running("b-g1-w0")
        assert len(exits(desk)) == 1

    play(story)


def test_what_ended_with_its_engine_is_lost_and_not_done() -> None:
    """A training that is told to end by the engine ends with 0: it is to go on elsewhere."""

    async def story(desk: Desk) -> None:
        desk.order(10, wanted(), wanted("b"))
        desk.start()
        await desk.until_running("b-g1-w0")
        desk.order(11, wanted(started=True), wanted("b", started=True, stop=STOP))
        await desk.until(lambda: bool(desk.docker.signals))
        desk.docker.end(NAME, exit_code=0, interrupted=True)
        await desk.until(lambda: len(exits(desk)) == 2)

        ends = {event.app_id: (event.reason, event.exit_code) for event in exits(desk)}
        assert ends == {"a": ("lost", 0), "b": ("exited", 0)}

    play(story)


def test_an_end_that_was_asked_for_is_no_loss() -> None:
    """The engine went down while a signalled container saved its work."""

    async def story(desk: Desk) -> None:
        desk.docker.deaf = True
        desk.order(10, wanted())
        desk.start()
        await desk.until_running()
        desk.order(11, wanted(started=True, stop=attrs.evolve(STOP, grace_ms=60_000)))
        await desk.until(lambda: bool(desk.docker.signals))
        desk.docker.end(NAME, exit_code=0, interrupted=True)
        await desk.until(lambda: bool(exits(desk)))

        assert [event.reason for event in exits(desk)] == ["exited"]

    play(story)
