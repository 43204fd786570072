"""What every test run shares."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dorm.local.engine import engine
from dorm.local.images import ensure_demo_image, ensure_digits

# Time limits of single examples measure how busy the machine is, not the code.
settings.register_profile("dorm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dorm")


@pytest.fixture(scope="session")
def docker_url() -> Iterator[str]:
    """The address of a Docker engine: the one that answers, or one started for this test run."""
    with engine(say=print) as found:
        yield found.url


@pytest.fixture(scope="session")
def demo_image(docker_url: str) -> str:
    """The tag of an image with Python, numpy and the example training, in that engine."""
    return ensure_demo_image(docker_url, say=print)


@pytest.fixture(scope="session")
def digits() -> Path:
    """The data set of the example training."""
    return ensure_digits(say=print)
