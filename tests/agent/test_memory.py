"""What outlives the agent."""

import asyncio

import attrs
import pytest

from dorm.agent.memory import Memory
from events.codec import to_json
from events.errors import Corrupt
from events.generations import ContainerExited
from tests.agent.desk import Desk, play
from tests.simulation.files import SimFiles
from tests.simulation.process import Process

PATH = "/state/memory.json"
KEY = ("a", 1, 0)
EXIT = ContainerExited(app_id="a", generation=1, rank=0, node_id="n1", reason="lost")


async def load(desk: Desk) -> Memory:
    """Return the memory as a new agent finds it."""
    return await Memory.load(SimFiles(desk.disk, Process("agent", 1)), PATH, new_agent_id="me")


def test_what_was_remembered_is_there_after_a_restart() -> None:
    """All of it, or containers would be signalled, reported or started again."""

    async def story(desk: Desk) -> None:
        memory = await load(desk)
        memory.believe(7)
        await memory.change(KEY, launched_at_s=1.5, signalled_at_s=3.5, started=True, exit=EXIT)

        assert (await load(desk)).now == attrs.evolve(memory.now, document_revision=7)
        assert (await load(desk)).of(KEY).exit == EXIT

    play(story)


def test_what_is_noted_while_something_is_written_is_kept() -> None:
    """A kill is noted at any moment, and a disk can be slow."""

    async def story(desk: Desk) -> None:
        memory = await load(desk)
        writing = asyncio.ensure_future(memory.change(KEY, started=True))
        await asyncio.sleep(0)
        await memory.note(("b", 1, 0), killed_at_s=1.0)
        await writing

        for known in (memory, await load(desk)):
            assert (known.of(KEY).started, known.of(("b", 1, 0)).killed_at_s) == (True, 1.0)

    play(story)


def test_what_is_not_reported_yet_is_not_forgotten() -> None:
    """Even when nobody asks for the container any more."""

    async def story(desk: Desk) -> None:
        memory = await load(desk)
        await memory.change(KEY, exit=EXIT)
        await memory.forget_all_but(())
        assert memory.of(KEY).exit == EXIT

        await memory.change(KEY, exit_sent=True)
        await memory.forget_all_but(())
        assert to_json(memory.now.containers) == b"{}"

    play(story)


def test_only_the_newest_outputs_are_kept() -> None:
    """The disk of a node is not an archive."""

    async def story(desk: Desk) -> None:
        memory = await load(desk)
        dropped = [await memory.keep_log(name, most=2) for name in ("a", "b", "a", "c")]

        assert dropped == [(), (), (), ("b",)]
        assert memory.now.saved_logs == ("a", "c")

    play(story)


def test_a_damaged_memory_stops_the_agent_with_a_way_out() -> None:
    """Without it nobody knows what was started here, and a guess could start a rank twice."""

    async def story(desk: Desk) -> None:
        desk.disk.tree(PATH)[PATH] = b"{"
        with pytest.raises(Corrupt, match="remove this node's containers by hand"):
            await load(desk)

    play(story)
