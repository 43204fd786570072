"""Checkpoints with real containers: one generation after the other, a damaged one, and a zombie."""

from pathlib import Path

import attrs
import pytest

from events.apps import Mount
from events.catalog import Event
from events.checkpoints import CheckpointRejected, CheckpointSaved
from events.generations import ContainerExited, ContainerStarted
from reconcilers.documents import Peer, Seed, WantedContainer
from tests.docker.agents import NODE, STOP, Node

pytestmark = pytest.mark.docker

WORK = Mount(name="work", target="/scratch")
TRAIN = """
set -e
cd "$DORM_CHECKPOINT_DIR"
step=0
if [ -f checkpoint.json ]; then step=$(cat step); fi
echo "generation $DORM_GENERATION begins at $step, resume $DORM_RESUME"
save() {
  step=$((step + 1))
  echo $step > step
  echo "{\\"step\\": $step, \\"files\\": [\\"step\\"]}" > .word
  mv .word checkpoint.json
}
trap 'save; exit 0' TERM
save
while true; do sleep 0.1; done
"""
"""A training that saves at its begin and at its end, one step each, always over the same file."""
ZOMBIE = """
trap '' TERM
cd "$DORM_CHECKPOINT_DIR"
echo 7 > step
echo '{"step": 7}' > checkpoint.json
while [ ! -f go ]; do sleep 0.05; done
while true; do echo rubbish > step; echo '{"step": 900}' > checkpoint.json; sleep 0.05; done
"""


def training(
    node: Node, script: str, *, generation: int = 1, seeds: tuple[Seed, ...] = ()
) -> WantedContainer:
    """Return the only container of a generation."""
    app_id = node.desk.app("a")
    return node.wanted(
        *("sh", "-c", script),
        generation=generation,
        mounts=(WORK,),
        checkpoint_path=f"/scratch/ckpt/{app_id}",
        seeds=seeds,
        resume=bool(seeds),
        peers=(Peer(rank=0, node_id=NODE, host=f"{app_id}-g{generation}-w0", port=20_000),),
    )


def saves(events: list[Event]) -> tuple[Seed, ...]:
    """Return the kept checkpoints that the log knows of, the newest first."""
    return tuple(
        Seed(generation=one.generation, step=one.step, manifest_sha256=one.manifest_sha256)
        for one in reversed(events)
        if isinstance(one, CheckpointSaved)
    )


def runs(events: list[Event], wanted: WantedContainer) -> bool:
    """Return whether a container is reported running."""
    return any(
        isinstance(one, ContainerStarted) and one.generation == wanted.generation for one in events
    )


async def resized(node: Node, revision: int, wanted: WantedContainer) -> tuple[Seed, ...]:
    """Stop a generation as a resize does; return what is kept then."""
    await node.order(revision, attrs.evolve(wanted, started=True, stop=STOP))
    found = await node.until(
        lambda events: any(
            isinstance(one, ContainerExited) and one.generation == wanted.generation
            for one in events
        )
    )
    await node.order(revision + 1)
    return saves(found)


def home(node: Node) -> Path:
    """Return where the checkpoints of the application lie."""
    app_id = node.desk.app("a")
    return node.work / "ckpt" / app_id / ".dorm" / app_id


async def test_a_resize_goes_on_from_the_kept_checkpoint_or_from_the_one_before(
    node: Node,
) -> None:
    """A damaged newest checkpoint costs some steps, stands in the log, and is not trained on."""
    first = training(node, TRAIN)
    await node.order(1, first)
    await node.until(lambda events: len(saves(events)) == 1)
    kept = await resized(node, 2, first)
    assert [(1, 2), (1, 1)] == [seed.position for seed in kept]

    second = training(node, TRAIN, generation=2, seeds=kept)
    await node.order(4, second)
    await node.until(lambda events: runs(events, second))
    assert (await node.output(second)).text.startswith("generation 2 begins at 2, resume 1")
    kept = await resized(node, 5, second)
    assert (2, 4) == kept[0].position

    (home(node) / "saved" / "g2-s4" / "files" / "step").write_text("9\n")
    third = training(node, TRAIN, generation=3, seeds=kept)
    await node.order(7, third)
    found = await node.until(
        lambda events: any(isinstance(one, CheckpointRejected) for one in events)
    )
    (rejection,) = [one for one in found if isinstance(one, CheckpointRejected)]
    assert (rejection.saved_generation, rejection.step) == (2, 4)
    assert "step has other content" in rejection.reason
    assert not runs(found, third)

    told = (attrs.evolve(kept[0], rejected=True), *kept[1:])
    await node.order(8, attrs.evolve(third, seeds=told))
    await node.until(lambda events: runs(events, third))
    begins = kept[1].step
    assert (await node.output(third)).text.startswith(f"generation 3 begins at {begins}, resume 1")


async def test_a_zombie_that_writes_on_does_not_reach_the_next_generation(node: Node) -> None:
    """Two containers of two generations run at once, as after a node was cut off and given up."""
    zombie = training(node, ZOMBIE)
    await node.order(1, zombie)
    await node.until(lambda events: bool(saves(events)))
    seeds = saves(await node.events())
    app_id, work = node.desk.app("a"), home(node) / "g1"
    (work / "go").touch()

    # The log gave the first generation up, and the machine does not know it yet.
    second = training(node, TRAIN, generation=2, seeds=seeds)
    await node.order(2, attrs.evolve(zombie, started=True), second)
    await node.until(lambda events: runs(events, second))
    await node.until(lambda events: any(seed.generation == 2 for seed in saves(events)))

    assert node.desk.inspect(zombie.name)["State"]["Running"]
    assert (work / "step").read_text() == "rubbish\n"
    assert (home(node) / "saved" / "g1-s7" / "files" / "step").read_text() == "7\n"
    assert (home(node) / "g2" / "step").read_text() == "8\n"
    assert (await node.output(second)).text.startswith("generation 2 begins at 7, resume 1")

    # Its own directory lies over all the rest, which it cannot even see.
    listing = node.desk.raw.containers.get(zombie.name).exec_run(
        ["ls", "-a", f"/scratch/ckpt/{app_id}"], stream=False
    )
    assert isinstance(listing.output, bytes)
    assert b"go\n" in listing.output
    assert b".dorm" not in listing.output
