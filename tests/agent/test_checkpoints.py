"""What an agent does with checkpoints: before its containers, beside them, and after them."""

import asyncio

import attrs

from dorm.checkpoints import manifest
from events.apps import Mount
from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.codec import digest
from events.generations import ContainerExited
from reconcilers.documents import Peer, Seed, WantedContainer
from tests.agent.desk import NODE, STOP, Desk, play, wanted

WORK = Mount(name="work", target="/scratch")
HOME = "/srv/scratch/ckpt/a/.dorm/a"
SAVING = wanted(mounts=(WORK,), checkpoint_path="/scratch/ckpt/a")
NAME = "a-g1-w0"


def later(*seeds: Seed, rejected: int = 0, **changes: object) -> WantedContainer:
    """Return the container of a second generation, which found that many seeds damaged."""
    told = tuple(attrs.evolve(seed, rejected=at < rejected) for at, seed in enumerate(seeds))
    return attrs.evolve(SAVING, **{"generation": 2, "seeds": told, **changes})  # type: ignore[arg-type]


def saves(desk: Desk) -> list[CheckpointSaved]:
    """Return the kept checkpoints that the log knows of."""
    found = [recorded.event for recorded in desk.log.recorded]
    return [event for event in found if isinstance(event, CheckpointSaved)]


def rejections(desk: Desk) -> list[tuple[int, int, str]]:
    """Return the checkpoints that were found damaged."""
    found = [recorded.event for recorded in desk.log.recorded]
    return [
        (event.saved_generation, event.step, event.reason)
        for event in found
        if isinstance(event, CheckpointRejected)
    ]


def the_exit(desk: Desk) -> ContainerExited:
    """Return the only exit in the log."""
    found = [recorded.event for recorded in desk.log.recorded]
    (event,) = [event for event in found if isinstance(event, ContainerExited)]
    return event


async def kept(desk: Desk, *steps: int) -> list[Seed]:
    """Let a first generation run and save at these steps; return what is kept, the newest first."""
    desk.order(10, SAVING)
    desk.start()
    await desk.until_running()
    for count, step in enumerate(steps, start=1):
        train(desk, step)
        await desk.until(lambda count=count: len(saves(desk)) == count)  # type: ignore[misc]
    return [
        Seed(generation=1, step=one.step, manifest_sha256=one.manifest_sha256)
        for one in reversed(saves(desk))
    ]


def train(desk: Desk, step: int, *, generation: int = 1) -> None:
    """Save as a container does."""
    desk.write("model", b"weights at %d" % step, generation=generation)
    desk.write("checkpoint.json", b'{"step": %d}' % step, generation=generation)


async def end(desk: Desk, revision: int, container: WantedContainer) -> None:
    """Stop a container and clear it away."""
    desk.order(revision, attrs.evolve(container, started=True, stop=STOP))
    await desk.until(lambda: f"ContainerExited {container.name} exited" in desk.events())
    desk.order(revision + 1)
    await desk.until(lambda: desk.state(container.name) == "absent")


def test_a_new_checkpoint_is_kept_while_the_training_runs() -> None:
    """A machine that burns down must not take an hour of work with it."""

    async def story(desk: Desk) -> None:
        await kept(desk, 40, 50)

        first, second = saves(desk)
        assert (first.step, second.step, second.generation) == (40, 50, 1)
        assert (second.node_id, second.file_count) == (NODE, 2)
        raw = desk.disk.tree(HOME)[f"{HOME}/saved/g1-s50/manifest.json"]
        assert second.manifest_sha256 == digest(raw)
        assert manifest.read(raw).step == 50

    play(story)


def test_a_training_that_saves_all_the_time_is_kept_now_and_then() -> None:
    """Copies cost the storage, and each is an event in the log."""

    async def story(desk: Desk) -> None:
        desk.order(10, SAVING)
        desk.start()
        await desk.until_running()
        for step in range(1, 101):
            train(desk, step)
            desk.write("checkpoint.json", b'{"step": %d, "files": []}' % step)
            await asyncio.sleep(1)

        assert 4 <= len(saves(desk)) <= 6

    play(story)


def test_the_last_checkpoint_is_in_the_log_before_the_exit() -> None:
    """Else the next generation might begin from an older one."""

    async def story(desk: Desk) -> None:
        await kept(desk, 40)
        train(desk, 47)
        desk.docker.end(NAME, exit_code=0)
        await desk.until(lambda: f"ContainerExited {NAME} exited" in desk.events())

        assert [40, 47] == [one.step for one in saves(desk)]
        events = desk.events()
        assert events.index(f"ContainerExited {NAME} exited") == len(events) - 1
        assert the_exit(desk).checkpoint_step == 47

    play(story)


def test_a_half_checkpoint_is_not_kept_even_at_the_end() -> None:
    """The word that was there before is of an older step."""

    async def story(desk: Desk) -> None:
        await kept(desk, 40)
        desk.write("checkpoint.json", b'{"st')
        desk.docker.end(NAME, exit_code=137)
        await desk.until(lambda: f"ContainerExited {NAME} exited" in desk.events())

        assert [40] == [one.step for one in saves(desk)]
        assert the_exit(desk).checkpoint_step == 40

    play(story)


def test_an_application_without_a_word_is_kept_at_its_end() -> None:
    """It vouches for nothing, but all that it left would be lost otherwise."""

    async def story(desk: Desk) -> None:
        desk.order(10, SAVING)
        desk.start()
        await desk.until_running()
        desk.write("model", b"weights")
        await asyncio.sleep(60)
        assert saves(desk) == []
        desk.docker.end(NAME, exit_code=0)
        await desk.until(lambda: f"ContainerExited {NAME} exited" in desk.events())

        assert [0] == [one.step for one in saves(desk)]
        assert the_exit(desk).checkpoint_step is None

    play(story)


def test_an_agent_that_died_after_keeping_reports_it_after_all() -> None:
    """The kept checkpoint on the storage is its own memory."""

    async def story(desk: Desk) -> None:
        desk.order(10, SAVING)
        desk.start()
        await desk.until_running()
        desk.log.available = False
        train(desk, 40)
        await desk.until(lambda: f"{HOME}/saved/g1-s40/manifest.json" in desk.disk.tree(HOME))
        desk.process.kill()
        desk.log.available = True
        desk.start()
        await desk.until(lambda: bool(saves(desk)))
        await asyncio.sleep(60)

        assert [40] == [one.step for one in saves(desk)]

    play(story)


def test_a_generation_begins_with_what_the_document_names() -> None:
    """Not with what lies in the directory of the one before, where a zombie may still write."""

    async def story(desk: Desk) -> None:
        (seed,) = await kept(desk, 40)
        await end(desk, 11, SAVING)
        train(desk, 99)
        desk.order(13, later(seed))
        await desk.until_running("a-g2-w0")

        files = desk.disk.tree(HOME)
        assert files[f"{HOME}/g2/model"] == b"weights at 40"
        assert files[f"{HOME}/g2/checkpoint.json"] == b'{"step": 40}'
        bind = desk.docker.launches["a-g2-w0"].binds[1]
        assert (bind.source, bind.target) == (f"{HOME}/g2", "/scratch/ckpt/a")

    play(story)


def test_what_a_generation_began_with_is_not_kept_again() -> None:
    """And a container that made no step reports the step that it went on from."""

    async def story(desk: Desk) -> None:
        (seed,) = await kept(desk, 40)
        await end(desk, 11, SAVING)
        desk.order(13, later(seed))
        await desk.until_running("a-g2-w0")
        await asyncio.sleep(60)
        desk.docker.end("a-g2-w0", exit_code=0)
        await desk.until(lambda: "ContainerExited a-g2-w0 exited" in desk.events())

        assert [(1, 40)] == [(one.generation, one.step) for one in saves(desk)]
        exits = [one.event for one in desk.log.recorded if isinstance(one.event, ContainerExited)]
        assert exits[-1].checkpoint_step == 40

    play(story)


def test_a_damaged_checkpoint_is_in_the_log_before_the_next_one_is_tried() -> None:
    """Whoever reads the log sees why progress went back; nothing goes back in silence."""

    async def story(desk: Desk) -> None:
        newest, older = await kept(desk, 40, 50)
        await end(desk, 11, SAVING)
        desk.disk.tree(HOME)[f"{HOME}/saved/g1-s50/files/model"] = b"rubbish"
        desk.order(13, later(newest, older))
        await desk.until(lambda: bool(rejections(desk)))
        await asyncio.sleep(60)

        assert [(1, 50)] == [one[:2] for one in rejections(desk)]
        assert "model has other content" in rejections(desk)[0][2]
        assert desk.state("a-g2-w0") == "absent"

        desk.order(14, later(newest, older, rejected=1))
        await desk.until_running("a-g2-w0")
        assert desk.disk.tree(HOME)[f"{HOME}/g2/model"] == b"weights at 40"

    play(story)


def test_no_whole_checkpoint_is_a_start_error_and_never_a_start_from_nothing() -> None:
    """A month of work would be trained over in silence."""

    async def story(desk: Desk) -> None:
        newest, older = await kept(desk, 40, 50)
        await end(desk, 11, SAVING)
        desk.order(13, later(newest, older, rejected=2))
        await desk.until(lambda: "ContainerExited a-g2-w0 start_error" in desk.events())

        exits = [one.event for one in desk.log.recorded if isinstance(one.event, ContainerExited)]
        assert "no whole checkpoint left of 2 kept ones" in exits[-1].message
        assert f"{HOME}/g2/" not in desk.disk.tree(HOME)
        assert desk.docker.creates["a-g2-w0"] == 0

    play(story)


ELSEWHERE = (
    Peer(rank=0, node_id="n9", host="a-g2-w0", port=20_000),
    Peer(rank=1, node_id=NODE, host="a-g2-w1", port=20_001),
)


def test_other_nodes_wait_for_the_node_of_rank_zero() -> None:
    """One copy is enough."""

    async def story(desk: Desk) -> None:
        (seed,) = await kept(desk, 40)
        await end(desk, 11, SAVING)
        desk.order(13, later(seed, rank=1, peers=ELSEWHERE))
        await asyncio.sleep(30)
        assert desk.state("a-g2-w1") == "absent"

        desk.disk.tree(HOME)[f"{HOME}/g2/"] = b""
        await desk.until_running("a-g2-w1")
        assert f"{HOME}/g2/model" not in desk.disk.tree(HOME)

    play(story)


def test_a_node_with_a_storage_of_its_own_makes_the_directory_after_a_while() -> None:
    """Where it has the checkpoint; where not, it says so instead of beginning with nothing."""

    async def story(desk: Desk) -> None:
        (seed,) = await kept(desk, 40)
        await end(desk, 11, SAVING)
        desk.order(13, later(seed, rank=1, peers=ELSEWHERE))
        await desk.until(lambda: desk.state("a-g2-w1") == "running", within_s=120)
        assert desk.disk.tree(HOME)[f"{HOME}/g2/model"] == b"weights at 40"

        unknown = attrs.evolve(seed, step=41)
        desk.order(14, later(unknown, rank=1, peers=ELSEWHERE, generation=3))
        await desk.until(
            lambda: "ContainerExited a-g3-w1 start_error" in desk.events(), within_s=120
        )
        assert rejections(desk) == []
        exits = [one.event for one in desk.log.recorded if isinstance(one.event, ContainerExited)]
        assert "storage that all nodes share" in exits[-1].message

    play(story)


def test_a_generation_that_is_stopped_while_its_checkpoint_is_copied_ends_at_once() -> None:
    """A copy may take minutes, and nobody wants it any more."""

    async def story(desk: Desk) -> None:
        (seed,) = await kept(desk, 40)
        await end(desk, 11, SAVING)
        desk.order(13, later(seed, rank=1, peers=ELSEWHERE))
        await asyncio.sleep(10)
        desk.order(14, later(seed, rank=1, peers=ELSEWHERE, stop=STOP))
        await desk.until(lambda: "ContainerExited a-g2-w1 lost" in desk.events(), within_s=15)

    play(story)


def test_what_is_older_than_the_oldest_kept_one_is_removed() -> None:
    """The log says which; never the agent by itself, which may be cut off."""

    async def story(desk: Desk) -> None:
        await kept(desk, 40, 50, 60)
        files = desk.disk.tree(HOME)
        assert f"{HOME}/saved/g1-s40/manifest.json" in files

        desk.order(11, attrs.evolve(SAVING, started=True, oldest_kept=(1, 50)))
        await desk.until(lambda: f"{HOME}/saved/g1-s40/manifest.json" not in files)

        assert f"{HOME}/saved/g1-s50/manifest.json" in files
        assert f"{HOME}/g1/model" in files

    play(story)


def test_a_training_that_nothing_can_be_kept_of_ends_all_the_same() -> None:
    """Its exit says what is missing, and the step is none that is kept."""

    async def story(desk: Desk) -> None:
        await kept(desk, 40)
        desk.write("checkpoint.json", b'{"step": 50, "files": ["gone"]}')
        desk.docker.end(NAME, exit_code=0)
        await desk.until(lambda: f"ContainerExited {NAME} exited" in desk.events())

        assert the_exit(desk).checkpoint_step == 40
        assert "its last checkpoint is not kept: checkpoint.json: gone" in the_exit(desk).message

    play(story)
