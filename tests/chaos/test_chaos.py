"""The short form of `tests.chaos.soak`: one seed, half a minute of faults, all invariants."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos import enclosure

SEED = 11
MINUTES = 0.5
APPS = 8
LIMIT_S = 420.0  # on a machine that is busy with other tests


@pytest.mark.docker
@pytest.mark.etcd
def test_a_cluster_of_real_processes_survives_random_faults(demo_image: str) -> None:
    """Three etcd members, three masters, four nodes, real containers; judged from the record."""
    assert demo_image, "the image is made before the run, which takes it from the engine"
    why_not = enclosure.missing()
    if why_not:
        pytest.skip(f"no chaos on this machine: {why_not}")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.chaos.soak"),
            *(f"--seed={SEED}", f"--minutes={MINUTES}", f"--apps={APPS}"),
        ],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "all invariants hold" in done.stdout, done.stdout
