"""A client on a world of its own."""

from collections.abc import Iterator

import httpx
import pytest

from tests.api.world import World


@pytest.fixture
def world() -> World:
    """An empty cluster."""
    return World()


@pytest.fixture
def http(world: World) -> Iterator[httpx.Client]:
    """An HTTP client of its master."""
    with httpx.Client(
        transport=world.transport(), base_url="http://m1.test", headers={"Dorm-User": "ann"}
    ) as client:
        yield client
