"""The demo is the main job from end to end, so it is the last word on whether Dorm works."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.demo.__main__ import SHAPE
from dorm import labels
from dorm.local.docker_api import DockerApi
from dorm.local.places import checkout

AT_MOST_S = 400  # twice what it takes on two busy cores


@pytest.mark.docker
@pytest.mark.etcd
def test_the_demo_holds_all_that_it_claims(docker_url: str, demo_image: str) -> None:
    """Three trainings, two masters, three agents, two kills; nothing is left behind."""
    assert demo_image
    done = subprocess.run(
        [sys.executable, "-m", "deploy.demo"],
        cwd=checkout() or Path(),
        env={**os.environ, **({"DOCKER_HOST": docker_url} if docker_url else {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=AT_MOST_S,
    )

    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert "All of it was true" in done.stdout
    with contextlib.closing(DockerApi(docker_url)) as docker:
        assert docker.remove_containers(f"{labels.CLUSTER}={SHAPE.cluster}") == 0
