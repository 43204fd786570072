"""Directed scenarios about checkpoints, and their protections switched off one at a time."""

import asyncio
from random import Random

import pytest

from dorm.ports.checkpoints import Kept, Place
from events.checkpoints import CheckpointRejected, CheckpointSaved
from reconcilers.documents import Seed
from tests.simulation.checkpoints import SimCheckpoints
from tests.simulation.cluster import Cluster, Parts
from tests.simulation.script import all_running, an_errand, sound, until
from tests.simulation.simulation import run_script, run_seed
from tests.simulation.storage import place

SEEDS_MAX = 60


def kept(cluster: Cluster) -> list[tuple[int, int]]:
    """Return the checkpoints of the only application, the newest first."""
    (app,) = cluster.checker.state.apps.values()
    return [one.position for one in app.checkpoints]


def rejected(cluster: Cluster) -> list[tuple[int, int]]:
    """Return what was found damaged."""
    found = [one.event for one in cluster.checker.recorded]
    return [
        (event.saved_generation, event.step)
        for event in found
        if isinstance(event, CheckpointRejected)
    ]


async def trained(cluster: Cluster, *, on_disconnect: str = "stop") -> str:
    """Train until two checkpoints are kept; return the application's id."""
    cluster.start_user("ann", (an_errand(steps=900, most=6, on_disconnect=on_disconnect),))
    await all_running(cluster)
    await until(cluster, lambda: len(kept(cluster)) == 2)
    return next(iter(cluster.checker.state.apps))


async def crash(cluster: Cluster) -> None:
    """Let a container crash, and wait until nothing of its generation is left."""
    container = cluster.checker.running[0]
    assert container.training is not None
    container.training.end(1)
    (app_id,) = cluster.checker.state.apps
    await until(cluster, lambda: cluster.checker.state.apps[app_id].generation is None)


def test_a_damaged_newest_checkpoint_costs_the_steps_since_the_one_before() -> None:
    """And the log says why."""

    async def script(cluster: Cluster) -> None:
        app_id = await trained(cluster)
        await crash(cluster)
        newest, older = kept(cluster)
        cluster.checker.checkpoints.damaged(app_id, newest)
        cluster.storage.damage(app_id, newest, Random(1))
        await all_running(cluster)
        assert rejected(cluster) == [newest]
        began = f"train {app_id} generation 2 from {older[1]}"
        assert any(line.endswith(began) for line in cluster.checker.story)

    sound(run_script(1, script))


def test_without_a_whole_checkpoint_nothing_is_trained_until_the_disk_is_repaired() -> None:
    """The application fails again and again, and never begins from nothing."""

    async def script(cluster: Cluster) -> None:
        app_id = await trained(cluster)
        await crash(cluster)
        home, files = f"{place(app_id).home}/saved/", cluster.storage.files
        lost = {path: files.pop(path) for path in sorted(files) if path.startswith(home)}
        for position in kept(cluster):
            cluster.checker.checkpoints.damaged(app_id, position)
        await asyncio.sleep(30)
        app = cluster.checker.state.apps[app_id]
        assert len(rejected(cluster)) >= 4, "two for each generation"
        assert app.failures > 1
        assert not any(one.generation > 1 for one in cluster.checker.running)
        files.update(lost)
        await all_running(cluster)

    sound(run_script(1, script))


def test_a_zombie_that_runs_on_moves_nothing() -> None:
    """A node cut off keeps its containers by its application's wish: both generations save."""

    async def script(cluster: Cluster) -> None:
        await trained(cluster, on_disconnect="keep")
        node_id = cluster.checker.running[0].node_id
        cluster.machines[node_id].process.cut_off()
        app_id = next(iter(cluster.checker.state.apps))
        await until(cluster, lambda: cluster.checker.state.apps[app_id].last_generation == 2)
        cluster.storage.write_late(app_id, 1)
        await asyncio.sleep(60)
        saves = [
            one.event for one in cluster.checker.recorded if isinstance(one.event, CheckpointSaved)
        ]
        assert any(event.generation == 2 for event in saves)
        cluster.machines[node_id].process.join()

    sound(run_script(1, script))


class Unchecked(SimCheckpoints):
    """A generation begins with whatever lies where a checkpoint was kept."""

    def _verified(self, place: Place, seed: Seed) -> dict[str, bytes] | str:
        """See `SimCheckpoints`."""
        home = f"{place.home}/saved/g{seed.generation}-s{seed.step}"
        return self._below(f"{home}/files")


class Inherited(SimCheckpoints):
    """A generation begins with the directory of the one before, as it stands."""

    def _verified(self, place: Place, seed: Seed) -> dict[str, bytes] | str:
        """See `SimCheckpoints`."""
        newest = max(
            (n for n in range(seed.generation, seed.generation + 50) if self._is_there(place, n)),
            default=seed.generation,
        )
        return self._below(place.work_dir(newest))


class Forgetful(SimCheckpoints):
    """A generation begins with nothing when it cannot have what it should."""

    def _verified(self, place: Place, seed: Seed) -> dict[str, bytes] | str:
        """See `SimCheckpoints`."""
        found = super()._verified(place, seed)
        return {} if isinstance(found, str) else found


class Hasty(SimCheckpoints):
    """Whatever stands in the directory is kept, whether its application said so or not."""

    async def keep(self, place: Place, generation: int, *, unsaid: bool = False) -> Kept | None:
        """See `Checkpoints`."""
        work = self._below(place.work_dir(generation))
        steps = [int(path.removeprefix("model-")) for path in work if path.startswith("model-")]
        if steps:
            path = f"{place.work_dir(generation)}/checkpoint.json"
            self._disk.tree(path)[path] = b'{"step": %d}' % max(steps)
        return await super().keep(place, generation, unsaid=unsaid)


@pytest.mark.parametrize("broken", [Unchecked, Inherited, Forgetful, Hasty])
def test_a_protection_of_checkpoints_that_is_switched_off_is_missed(
    broken: type[SimCheckpoints],
) -> None:
    """A simulation that passes without it does not test it."""
    for seed in range(SEEDS_MAX):
        result = run_seed(seed, parts=Parts(checkpoints=broken))
        if any("I4" in violation for violation in result.violations):
            return
    pytest.fail(f"{SEEDS_MAX} seeds, and nothing was noticed")
